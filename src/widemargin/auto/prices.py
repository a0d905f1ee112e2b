"""What each method is predicted to cost on a shape, in the currency of `widemargin.data.work`.

A prediction is a number of steps times the price of one. Prices are exact up to the machine; the
numbers of steps are priors, replaced by what a run shows as soon as it has shown anything, and what
they can do wrong is bounded by the loans of the policy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from widemargin.auto.contest import Offer
from widemargin.auto.machine import MACHINE
from widemargin.auto.shape import BinaryShape
from widemargin.data.work import Size, factor, solve
from widemargin.linalg.spectrum import rows_looked_at

_UNSURE = 3.0
"""By how much a guessed price has to be below what sweeps are expected to cost, to go first: one
standard deviation of their ratio, where a logistic fit's price is known to a factor of 1.6 and the
sweeps are to one of 2.5."""

_LEADS = 0.5
"""Share of the squared norms along one direction from which errors in the rest matter less."""

_LOOK = 0.05
"""What a look at the rows may cost, as a share of the cheapest method's price."""


def sweep(shape: BinaryShape) -> float:
    """Price one sweep of coordinate descent over all examples."""
    return MACHINE.sweep_call + shape.size.sweep(shape.visit_cost)


def expected_sweeps(size: Size, stiffness: float, tol: float, leading: float = 0.0) -> float:
    """Return how many sweeps coordinate descent is likely to take.

    The contraction of a sweep depends on how far the dual is from being separable: on the stiffness
    κ = c ‖x‖² times the loss's factor, which is the ratio of what the rows add to the dual's
    curvature and what the loss does. With fewer active rows than weights X Xᵀ has curvature of its
    own in every direction, by the law of Marchenko and Pastur between (1 − √(n/d))² and
    (1 + √(n/d))² of the mean. What slows sweeps down is the spread of the whole curvature, 4√(n/d)
    over the least: few rows among many weights are next to orthogonal. The share of their squared
    norms that lies along one `leading` direction has no part in the curvature of the others.
    """
    ratio = math.sqrt(min(1.0, MACHINE.active_rows * size.rows / max(1, size.weights)))
    own = (1.0 - leading) * (1.0 - ratio) ** 2
    stiffness = min(1.0, 4.0 * ratio) / (1.0 / min(max(stiffness, 1e-300), 1e300) + own)
    sweeps = MACHINE.least_sweeps + MACHINE.stiff_sweeps * stiffness**MACHINE.stiff_exponent
    return sweeps * digits_of(tol) / 4.0


def expected(shape: BinaryShape) -> float:
    """Price the sweeps that other classes took, or that the stiffness lets expect."""
    known = shape.known_of("dual_cd")
    return _expected(shape) if known is None else known.work


@lru_cache(maxsize=256)
def _expected(shape: BinaryShape) -> float:
    """Price the sweeps that the stiffness lets expect; kept as `offers` are."""
    leading = 0.0 if shape.spectrum is None else shape.spectrum.leading
    return sweep(shape) * expected_sweeps(shape.size, shape.stiffness, shape.tol, leading)


def digits_of(tol: float) -> float:
    """Return the decimal digits that a tolerance asks for, at least one."""
    return max(1.0, -math.log10(max(tol, 1e-16)))


@lru_cache(maxsize=256)
def offers(shape: BinaryShape, gap: float = 1.0) -> tuple[Offer, ...]:
    """Return the second-order methods that support a shape, cheapest first.

    `gap` is the relative gap of the point that they would start from. Kept, because a policy asks
    after every step.
    """
    size = shape.size
    digits = math.log10(max(min(gap, 1.0) / shape.tol, 10.0))
    found = []
    if shape.smooth:
        price, guessed = _newton(shape)
        sure = not guessed or _UNSURE * price <= expected(shape)
        found.append(Offer("newton", price, begins=sure, iterative=guessed))
    else:
        small = size.values <= MACHINE.small_problem
        sampled = size.rows >= MACHINE.many_rows * size.weights
        price = _proximal_newton(shape, size, digits)
        known = size.weights <= MACHINE.largest_factorised
        found.append(Offer("proximal_newton", price, begins=known and (sampled or small)))
        if size.weights <= MACHINE.largest_factorised:
            price = _interior_point(shape, size)
            found.append(Offer("interior_point", price, begins=small))
    if size.rows < size.weights and size.rows <= MACHINE.largest_factorised:
        factor_of_rows = Size(size.rows, size.rows, size.rows**2)
        start = size.row_gram() + factor(size.rows)
        if shape.smooth:
            steps = _newton_steps(shape) if shape.pieces else MACHINE.newton_steps
            steps *= _newton_step(factor_of_rows)
            found.append(Offer("newton", start + steps, True))
        else:
            steps = _interior_point(shape, factor_of_rows)
            found.append(Offer("interior_point", start + steps, True))
            steps = _proximal_newton(shape, factor_of_rows, digits)
            found.append(Offer("proximal_newton", start + steps, True))
    return tuple(sorted(_with_known(shape, found), key=lambda offer: offer.price))


def _with_known(shape: BinaryShape, found: list[Offer]) -> list[Offer]:
    """Return offers at what they took on other classes; L-BFGS among them if it is known."""
    quasi = shape.known_of("quasi_newton")
    if quasi is not None and quasi.finished:
        found.append(Offer("quasi_newton", quasi.work))
    return [_as_known(shape, offer) for offer in found]


def _as_known(shape: BinaryShape, offer: Offer) -> Offer:
    """Return an offer at the price that others paid, if they did."""
    known = shape.known_of(offer.method, offer.in_row_space)
    if known is None:
        return offer
    if known.finished:
        return replace(offer, price=known.work, begins=True, iterative=False)
    return replace(offer, price=max(offer.price, known.work), begins=False)


def _newton(shape: BinaryShape) -> tuple[float, bool]:
    """Price Newton's method: a few steps, more where the problem is stiff.

    Also return whether the price is a guess, because steps come from conjugate gradients.
    """
    size = shape.size
    products, short = _gradient_steps(shape), size.short_gradients
    gradients = products * size.gradient_step(short)
    factorised, sampled = size.weights <= MACHINE.largest_factorised, _sampled(size)
    matrix = size.gram() + factor(size.weights)
    # The steps on samples cost little, and the last ones start near the solution.
    share = MACHINE.sampled_steps if sampled else 1.0
    exact = share * _newton_steps(shape) * _newton_step(size) if factorised else math.inf
    if sampled or (factorised and gradients > MACHINE.tried_instead * matrix):
        return exact, False
    steps = _newton_steps(shape, factorised=False)
    if short:
        inexact = steps * size.short_newton_step(products)
    else:
        inexact = steps * (MACHINE.step + size.product(MACHINE.newton_products) + gradients)
    # Products that are not enough are followed by a matrix.
    return min(inexact, (1.0 + MACHINE.tried_instead) * exact), True


@lru_cache(maxsize=256)
def worth_a_look(shape: BinaryShape) -> bool:
    """Whether looking at the spectrum costs a small share of what the cheapest method does.

    It tells about sweeps and L-BFGS, and so where the loss is smooth.
    """
    if not shape.smooth or not shape.compiled or shape.elsewhere:
        return False
    count = rows_looked_at(shape.size.rows)
    values = int(count * shape.size.mean)
    price = MACHINE.step + Size(count, shape.size.weights, values).row_gram()
    each = (expected, lambda at: quasi_newton(at).price, lambda at: offers(at)[0].price)
    return all(price <= _LOOK * of(shape) for of in each)


@lru_cache(maxsize=256)
def quasi_newton(shape: BinaryShape) -> Offer:
    """Price L-BFGS: the gradient at the start, the scales of the columns, steps, or a factor.

    The number of steps is a guess. Where the loss is quadratic on pieces it is no offer to hand
    over to: sweeps sort the examples to them, and what makes that slow holds here too (of 12 fits
    that sweeps would have given over to it, 8 took longer). Nor does it begin where samples make
    Newton's steps cheap, unless a step or two do, or where rows are fewer than weights: then it
    depends on the same eigenvalues as sweeps, which cost no more and show their rate from the first
    on, and has to be the cheaper one by far. It is no guess where the largest eigenvalue bounds the
    steps. The one after it says as much only where the first direction has most of the norms, or
    rows are no fewer than weights: text has more directions in common than a few documents show.
    """
    size = shape.size
    free = size.rows < size.weights
    spread = 1.0 if shape.spectrum is None else shape.spectrum.spread
    # The mean eigenvalue that the rows add.
    mean = max(spread * shape.stiffness * max(1.0, size.rows / max(1, size.weights)), 1e-16)
    guess, bound = _quasi_newton_steps(size, mean), _bounded_steps(shape, mean)
    matrix = size.gram() + factor(size.weights)
    most = MACHINE.tried_instead * matrix + quasi_newton_factor(shape)
    steps = min(guess, bound) * size.quasi_newton_step()
    price = size.product(1.0 if free else 3.0) + min(steps, most)
    begins = not _sampled(size) and not (free and _UNSURE * price > expected(shape))
    leads = shape.spectrum is not None and shape.spectrum.leading >= _LEADS
    sure = _bounded_steps(shape, mean, by_largest=free and not leads) <= guess
    begins = shape.smooth and (sure or begins)
    return _as_known(shape, Offer("quasi_newton", price, begins=begins))


def _bounded_steps(shape: BinaryShape, mean: float, by_largest: bool = False) -> float:
    """Return how many steps the largest eigenvalues that the rows add allow; at least one.

    As conjugate gradients, L-BFGS takes a step for an eigenvalue that stands out, and for the rest
    the error falls by (√κ − 1) / (√κ + 1) a step, where κ is the condition number. The gap is its
    square, and where the penalty outweighs the rows it is small to begin with. Where nothing is
    known about the spectrum, a guess has to say that much, and a step more is allowed for.
    """
    found = shape.spectrum
    if found is None:
        guess = mean * math.sqrt(shape.size.rows) if shape.size.rows < shape.size.weights else mean
        return 1.0 + _steps_at(guess, shape.tol) if guess < 1.0 else math.inf
    scale = found.spread * shape.stiffness
    first = _steps_at(scale * found.largest, shape.tol)
    # Where pieces change, what a step has taken out comes back.
    return (
        first
        if shape.pieces or by_largest
        else min(first, 1.0 + _steps_at(scale * found.second, shape.tol))
    )


def _steps_at(largest: float, tol: float) -> float:
    root = math.sqrt(1.0 + min(max(largest, 1e-12), 1e300))
    digits = math.log(max(2.0, 2.0 * min(largest, 1.0) / tol))
    return max(1.0, digits / (2.0 * math.log((root + 1.0) / (root - 1.0))))


def quasi_newton_factor(shape: BinaryShape) -> float:
    """Price what L-BFGS has left to do when it takes a factor; infinite where nothing is known.

    A factor says little about a loss of pieces while examples are still being sorted to them.
    """
    size = shape.size
    if size.weights > MACHINE.largest_factorised or shape.pieces:
        return math.inf
    steps = MACHINE.factor_steps * (size.quasi_newton_step() + solve(size.weights))
    return size.gram() + factor(size.weights) + steps


def _quasi_newton_steps(size: Size, mean: float) -> float:
    """Return how many steps L-BFGS is likely to take where the rows add eigenvalues of this mean.

    By the law of Marchenko and Pastur they lie between (1 − √r)² and (1 + √r)² of their mean, where
    r is the smaller of rows per weight and weights per row, and steps grow with the root of the
    condition number. Columns of other scales, correlated ones, and a curvature that changes on the
    way add to that. Where columns are scaled, steps grow slowly with the sum of the eigenvalues,
    which bounds the largest; where rows are fewer than weights, so that columns are not, they grow
    faster, with the mean.
    """
    mean = min(mean, 1e300)
    fewer, more = sorted((size.rows, max(1, size.weights)))
    ratio = math.sqrt(fewer / max(1, more))
    condition = (1.0 + mean * (1.0 + ratio) ** 2) / (1.0 + mean * (1.0 - ratio) ** 2)
    if size.rows < size.weights:
        least, power, growth = MACHINE.free_quasi_steps
        return least * condition ** (0.5 * power) * (1.0 + mean) ** growth
    least, power, growth = MACHINE.quasi_steps
    return least * condition ** (0.5 * power) * (1.0 + mean * size.weights) ** growth


def sorting(shape: BinaryShape) -> bool:
    """Whether weights are free to sort the rows to the pieces of a loss in many ways."""
    return shape.pieces and shape.size.rows <= MACHINE.sorting_rows * shape.size.weights


def _sampled(size: Size) -> bool:
    """Whether Newton's method takes its first steps on samples."""
    factorised = size.weights <= MACHINE.largest_factorised
    return factorised and size.rows >= MACHINE.rows_of_samples * size.weights


def _gradient_steps(shape: BinaryShape) -> float:
    """Return the conjugate gradients of a step, preconditioned by the diagonal.

    One where the penalty outweighs the rows. Few digits are asked of a step that is far from the
    solution: the stiffness matters little, but while examples are still sorted to the pieces of a
    loss.
    """
    if sorting(shape):
        times, power = MACHINE.sorting_products
        return 1.0 + times * min(shape.stiffness, 1e4) ** power
    return 1.0 + MACHINE.gradient_steps * shape.stiffness**MACHINE.gradient_stiffness


def _newton_steps(shape: BinaryShape, factorised: bool = True) -> float:
    """Return the number of steps; many where weights are free to sort the rows in many ways."""
    rows, weights = shape.size.rows, shape.size.weights
    digits = _stiff_digits(shape, 1e4)
    if sorting(shape):
        times, power = MACHINE.sorting_steps if factorised else MACHINE.inexact_sorting_steps
        steps = times * 10.0 ** (power * digits)
    else:
        steps = MACHINE.newton_steps + MACHINE.newton_stiff_steps * digits
    steps *= 1.0 + MACHINE.newton_steps_per_digit * (digits_of(shape.tol) - 4.0)
    steep = max(shape.stiffness * max(1.0, rows / max(1, weights)), 1e-16)
    if shape.pieces or steep >= 1.0:
        return steps
    # The first step leaves a share κ of the error, and every other one squares that.
    return min(steps, 1.0 + math.log2(max(1.0, math.log(shape.tol) / math.log(steep))))


def _newton_step(size: Size) -> float:
    # Half of the steps are near the solution, where a matrix follows the few rows that change.
    matrix = MACHINE.newton_matrix * min(size.gram(), size.product(2.0 * MACHINE.dear_matrix))
    call = MACHINE.small_call if size.weights <= MACHINE.small_weights else 1.0
    vectors = size.vectors(MACHINE.newton_vectors)
    products = size.product(MACHINE.newton_products)
    return products + matrix + factor(size.weights) + vectors + call * MACHINE.step


def _proximal_newton(shape: BinaryShape, size: Size, digits: float) -> float:
    stiff = _stiff_digits(shape, 1e6)
    steps = MACHINE.proximal_steps + MACHINE.proximal_steps_per_digit * (digits + stiff)
    call = MACHINE.proximal_call * (MACHINE.small_call if size.has_short_steps else 1.0)
    step = size.product(MACHINE.proximal_products) + call * MACHINE.step
    if size.weights > MACHINE.largest_factorised:
        # The narrower the rounded corner, the sharper its curvature.
        products = min(MACHINE.most_products, 1.0 + MACHINE.products_per_digit * stiff)
        return steps * (step + products * size.gradient_step())
    # Near the solution no more than a few times as many examples as weights are in the corner.
    matrix = size.gram(min(size.rows, MACHINE.corner_rows * size.weights)) + factor(size.weights)
    return steps * (step + matrix + size.vectors(MACHINE.proximal_vectors))


def _interior_point(shape: BinaryShape, size: Size) -> float:
    digits = digits_of(shape.tol) + _stiff_digits(shape, 1e6)
    steps = MACHINE.interior_steps + MACHINE.interior_steps_per_digit * digits
    if size.rows <= size.weights:
        steps *= MACHINE.free_steps  # every example can be put right: nothing is left undecided
    vectors = size.vectors(MACHINE.interior_vectors)
    matrix = MACHINE.interior_matrix * size.gram() + factor(size.weights)
    products = size.product(MACHINE.interior_products)
    return steps * (products + matrix + vectors + MACHINE.interior_call * MACHINE.step)


def _stiff_digits(shape: BinaryShape, most: float) -> float:
    """Return the decimal digits of the stiffness, up to where it makes no more difference."""
    rows_per_weight = max(1.0, shape.size.rows / max(1, shape.size.weights))
    stiffness = shape.stiffness * (rows_per_weight if shape.smooth else 1.0)
    return math.log10(min(max(1.0, stiffness), most))

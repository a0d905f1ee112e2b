"""``solver="auto"`` for binary problems: see `widemargin.auto.contest`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from widemargin.auto import cause, prices
from widemargin.auto.contest import Contest, Offer
from widemargin.auto.decision import Decision, Leg
from widemargin.auto.experience import worth_trying
from widemargin.auto.machine import MACHINE
from widemargin.auto.prediction import saturated, steps_to_go, sweeps_to_go, while_sorting
from widemargin.auto.shape import BinaryShape, same_shape
from widemargin.linalg.spectrum import spectrum_of
from widemargin.problems.binary import BinaryProblem


class BinaryPolicy(Contest[BinaryShape]):
    """Dual coordinate descent, Newton's method on the loss or its rounding, interior point."""

    sweeps = "dual_cd"
    last_digits = ("interior_point",)
    sees_order = True
    """Whether the digits beyond the tolerance depend on the order of the rows."""

    def shape_of(self, problem: BinaryProblem, tol: float, warm: bool) -> BinaryShape:
        """Read the counts off a problem, and look at a few rows where that is worth its price."""
        shape = same_shape(BinaryShape.of(problem, tol))
        if not prices.worth_a_look(shape):
            return shape
        return replace(shape, spectrum=spectrum_of(problem.rows, problem.free_intercept))

    def offers(self, shape: BinaryShape, leg: Leg | None = None) -> Sequence[Offer]:
        """Price the second-order methods; from where sweeps have got to, some take fewer steps.

        What sweeps hand over to may be L-BFGS too, but for a loss that is quadratic on pieces.
        """
        found = prices.offers(shape, leg.gaps[-1] if leg is not None and leg.gaps else 1.0)
        swept = leg is not None and leg.method == self.sweeps
        if not swept or not shape.smooth or shape.pieces:
            return found
        return (*found, prices.quasi_newton(shape))

    def least_price(self, shape: BinaryShape) -> float:
        """Return the price of the cheapest method from a point next to the solution."""
        found = prices.offers(shape, shape.tol)
        least = found[0].price if found else 0.0
        return min(least, prices.quasi_newton(shape).price) if shape.smooth else least

    def sweep(self, shape: BinaryShape) -> float:
        """Price one sweep of coordinate descent over all examples."""
        return prices.sweep(shape)

    def expected(self, shape: BinaryShape) -> float:
        """Price the sweeps that the stiffness lets expect."""
        return prices.expected(shape)

    def first(self, shape: BinaryShape, follows: str) -> Decision:
        """Begin with what worked at a smaller C, with steps that are cheap, or with sweeps."""
        if shape.elsewhere:
            return Decision("newton" if shape.smooth else "proximal_newton", cause.ELSEWHERE)
        offers = self.offers(shape)
        if not shape.compiled:
            bundle = Decision("bmrm_qp", cause.FORMULAS)
            return offers[0].taken(cause.FORMULAS) if shape.smooth else bundle
        if follows or shape.known:
            return self._informed(shape, offers, follows)
        tiny = self.sees_order and not shape.smooth and _is_tiny(shape)
        best = _for_digits(shape, offers) if tiny else self.begins(shape)
        if best is None:
            return self.swept(cause.SWEEPS_TELL)
        return best.taken(cause.cheap_steps(shape, best))

    def next(self, shape: BinaryShape, legs: Sequence[Leg], follows: str) -> Decision | None:
        """Decide after a step: another method, or None to go on."""
        if shape.elsewhere or not shape.compiled:
            return None
        if legs[-1].method == "quasi_newton" and not legs[-1].finished:
            return self._after_quasi_newton(shape, legs)
        return super().next(shape, legs, follows)

    def _cheapest(self, shape: BinaryShape, legs: Sequence[Leg]) -> Offer | None:
        """Return the cheapest method to hand over to; L-BFGS again, where sweeps took over from it.

        They were expected to be done soon then. Once they have cost what it was to, they were not.
        """
        best = super()._cheapest(shape, legs)
        left = [leg for leg in legs if leg.method == "quasi_newton"]
        if not left or any(leg.finished for leg in left):
            return best
        quasi = prices.quasi_newton(shape)
        again = replace(quasi, price=max(quasi.price, 2.0 * sum(leg.work for leg in left)))
        if legs[-1].work < again.price or (best is not None and best.price <= again.price):
            return best
        return again

    def _to_go(self, shape: BinaryShape, leg: Leg) -> float:
        """Predict what sweeps still cost: what they took on another class says more than a rate."""
        return _as_known(shape, leg, super()._to_go(shape, leg))

    def tries(self, shape: BinaryShape) -> bool:
        """Whether a class should try what none before it did, for those that follow."""
        if shape.elsewhere or not shape.compiled:
            return False
        return self._to_try(shape, self._choices(shape)) is not None

    def _as_others(self, shape: BinaryShape) -> Decision:
        """Begin with what took the least on other classes, or with what is worth a try."""
        choices = self._choices(shape)
        tried = self._to_try(shape, choices)
        if tried is not None:
            return tried.taken(cause.TRIED)
        found = min(choices, key=lambda offer: _mean(shape, offer)).taken(cause.OTHERS)
        unknowing = self.first(replace(shape, known=(), others=0), "")
        # One sentence for all classes, where there is nothing that they would do differently.
        same = (found.method, found.in_row_space) == (unknowing.method, unknowing.in_row_space)
        return unknowing if same else found

    def _to_try(self, shape: BinaryShape, choices: Sequence[Offer]) -> Offer | None:
        """Return the method that is worth a try, the one predicted to be the cheapest if any is."""
        known = [offer for offer in choices if _finished(shape, offer)]
        best = min((offer.price for offer in known), default=math.inf)
        others = [o for o in choices if shape.known_of(o.method, o.in_row_space) is None]
        for offer in sorted(others, key=lambda offer: offer.price):
            if worth_trying(offer.price, _error(offer), best, shape.others):
                return offer
        return None

    def _choices(self, shape: BinaryShape) -> list[Offer]:
        """Return all methods at what they took on other classes, or are predicted to take."""
        found = {(o.method, o.in_row_space): o for o in self.offers(shape)}
        if shape.smooth:
            quasi = prices.quasi_newton(shape)
            found.setdefault((quasi.method, False), quasi)
        return [*found.values(), Offer(self.sweeps, self.expected(shape))]

    def _after_sweep(
        self, shape: BinaryShape, legs: Sequence[Leg], follows: str
    ) -> Decision | None:
        """Hand over, from the very start where that is the better place for Newton's method.

        Where sweeps have got nowhere margins are wild, and a curvature that falls with the margin,
        as the logistic loss's, is next to none there. At w = 0 it is the largest.
        """
        decision = super()._after_sweep(shape, legs, follows)
        fades = shape.smooth and not shape.pieces
        if decision is None or follows or not fades or not saturated(legs[-1].gaps[-1]):
            return decision
        return replace(decision, afresh=True)

    def begins(self, shape: BinaryShape) -> Offer | None:
        """Return the method that is so cheap that no sweep need tell, if any is."""
        best, quasi = super().begins(shape), prices.quasi_newton(shape)
        most = self.cheap(shape) if best is None else best.price
        return quasi if quasi.begins and quasi.price < most else best

    def _after_quasi_newton(self, shape: BinaryShape, legs: Sequence[Leg]) -> Decision | None:
        """Hand over once steps have cost a share of another method and are predicted to cost more.

        The first steps say little about those that follow: the share is that which conjugate
        gradients may spend in place of a factor. What they do say holds for the others too: steps
        of L-BFGS, and of conjugate gradients, grow with the root of the condition number, sweeps
        with itself. Where L-BFGS takes a factor itself, that is what Newton's method would do. Rows
        that weights are free to sort, and that are sorted now, may be what sweeps are fast at.
        """
        leg, expected = legs[-1], prices.quasi_newton(shape).price
        with_factor = prices.quasi_newton_factor(shape)
        to_go = sweeps_to_go(leg.works, leg.gaps, shape.tol, expected, MACHINE.quasi_pool)
        to_go = min(to_go, with_factor)
        to_go = _as_known(shape, leg, to_go)
        harder = max(1.0, (leg.work + to_go) / expected)
        swept = self._swept_instead(shape, leg, harder)
        sweeps = Offer(self.sweeps, swept)
        left_out = {leg.method for leg in legs}
        if with_factor < math.inf:
            left_out.add("newton")
        others = [o for o in (*self.offers(shape, leg), sweeps) if o.method not in left_out]
        # Steps that have cost as much as a price says are no reason to raise it any more.
        others = [_raised(o, harder) if o.price > leg.work else o for o in others]
        best = min(others, key=lambda offer: offer.price, default=None)
        if best is None or leg.work < MACHINE.tried_instead * best.price or to_go <= best.price:
            return None
        steps = steps_to_go(leg.gaps, shape.tol)
        return best.taken(cause.slow_quasi_newton(steps, len(leg.gaps)))

    def _swept_instead(self, shape: BinaryShape, leg: Leg, harder: float) -> float:
        """Price the sweeps that would follow L-BFGS, which was so many times as hard as expected.

        What they took on another class does not become more by that.
        """
        if _finished(shape, Offer(self.sweeps, 0.0)):
            return self.expected(shape)
        swept = harder**2 * self.expected(shape)
        if prices.sorting(shape):
            swept = while_sorting(swept, leg.work, leg.misplaced)
        return swept

    def _informed(self, shape: BinaryShape, offers: Sequence[Offer], follows: str) -> Decision:
        """Begin with what worked at a smaller C, or with what others of the same fit took."""
        return self._following(shape, offers, follows) if follows else self._as_others(shape)

    def _following(self, shape: BinaryShape, offers: Sequence[Offer], follows: str) -> Decision:
        """Go on with what worked at a smaller C, or with Newton, which needs a step or two then.

        A step of it may cost no more than the sweeps that would tell how hard the problem is, and
        all of them no more than L-BFGS, if that is what worked.
        """
        quasi = prices.quasi_newton(shape)
        most = MACHINE.newton_steps * MACHINE.telling_sweeps * self.sweep(shape)
        if quasi.method == follows and quasi.begins:
            most = min(most, quasi.price)
        for offer in offers:
            near = offer.method == "newton" and offer.begins and offer.price <= most
            if offer.method == follows or near:
                return offer.taken(cause.WORKED_BEFORE if not near else cause.NEAR)
        if quasi.method == follows and quasi.begins:
            return quasi.taken(cause.WORKED_BEFORE)
        return self.swept(cause.WORKED_BEFORE)


def _as_known(shape: BinaryShape, leg: Leg, to_go: float) -> float:
    """Bound what a method is predicted to take still by what it took on another class.

    Once that is spent, no more counts than twice what was spent so far: see `while_saturated`.
    """
    known = shape.known_of(leg.method)
    if known is None or not known.finished:
        return to_go
    return min(to_go, max(known.work, 2.0 * leg.work))


def _finished(shape: BinaryShape, offer: Offer) -> bool:
    known = shape.known_of(offer.method, offer.in_row_space)
    return known is not None and known.finished


def _error(offer: Offer) -> float:
    """Return the standard deviation of the logarithm of what a method takes, over its price."""
    return MACHINE.sweeps_error if offer.method == BinaryPolicy.sweeps else MACHINE.steps_error


def _mean(shape: BinaryShape, offer: Offer) -> float:
    """Return what a method is likely to take on average: predictions have a long tail."""
    error = MACHINE.class_error if _finished(shape, offer) else _error(offer)
    return offer.price * math.exp(0.5 * error**2)


def _raised(offer: Offer, harder: float) -> Offer:
    """Return an offer whose conjugate gradients take so many times as many products."""
    return replace(offer, price=harder * offer.price) if offer.iterative else offer


def _is_tiny(shape: BinaryShape) -> bool:
    size = shape.size
    few = size.values <= MACHINE.tiny_problem and size.rows < 8 * size.weights
    return few and min(size.rows, size.weights) ** 2 <= MACHINE.tiny_problem


def _for_digits(shape: BinaryShape, offers: Sequence[Offer]) -> Offer | None:
    """Return the method whose last digits come for free; it does not see the order of the rows."""
    fewer = shape.size.rows < shape.size.weights
    name = "proximal_newton" if fewer else "interior_point"
    found = (offer for offer in offers if offer.begins and offer.in_row_space == fewer)
    return next((offer for offer in found if offer.method == name), None)

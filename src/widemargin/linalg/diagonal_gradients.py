"""Conjugate gradients for Newton steps with many weights, the diagonal as preconditioner.

The mathematics is that of `widemargin.linalg.conjugate_gradients`. With many weights the vectors
over them cost as much as sparse products: each step here makes three passes over them, in threads
if the rows have some, and not fifteen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from widemargin.data.block_work import CHUNK, Threads
from widemargin.instruction_sets import core
from widemargin.linalg.conjugate_gradients import NewtonAccuracy

Vector = NDArray[np.float64]


def diagonal_gradients(
    product: Callable[[Vector], tuple[Vector, float]],
    mean: Vector,
    diagonal: Vector,
    enough: NewtonAccuracy,
    most_steps: int,
    moved: Callable[[float], None],
    threads: Threads,
    compiled: Callable[..., tuple[int, bool]] | None = None,
    extra: int = 0,
) -> tuple[Vector, Vector, int]:
    """Solve A x = right from x = 0; return x, its residual and the number of products.

    Parameters
    ----------
    product : callable
        Returns an image B p and a share s, of which A p = p + B p − s · mean, the image as a new
        array.
    mean : ndarray of shape (d,) or (0,)
        Without entries, nothing is subtracted.
    diagonal : ndarray of shape (d,)
        About that of A.
    enough : NewtonAccuracy
        With the right-hand side.
    most_steps : int
    moved : callable
        Called after each product with the multiple of its direction that x has moved by.
    threads : Threads
    compiled : callable, optional
        Makes some steps, products included, in one compiled call: of the vectors, the numbers that
        `enough` compares with, and the number of steps at most. Returns how many it made, and
        whether more are wanted.
    extra : int
        Zeros to append to x and to its residual.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.data.block_work import Threads
    >>> from widemargin.linalg.conjugate_gradients import NewtonAccuracy
    >>> from widemargin.linalg.diagonal_gradients import diagonal_gradients
    >>> B = np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> enough = NewtonAccuracy((B + np.eye(2)) @ [1.0, 2.0], 1e-20, np.inf)
    >>> x, residual, steps = diagonal_gradients(
    ...     lambda p: (B @ p, 0.0), np.zeros(0), np.array([4.0, 3.0]), enough, 10, abs, Threads()
    ... )
    >>> x.round(9), steps
    (array([1., 2.]), 2)
    """
    right = enough.right
    count = right.size
    x_and_more, r_and_more = (np.empty(count + extra) for _ in range(2))
    x_and_more[count:] = r_and_more[count:] = 0.0
    x, r, direction = x_and_more[:count], r_and_more[:count], np.empty(count)
    vectors = core.DiagonalGradients(
        right, 1.0 / diagonal, mean, x, r, direction, threads.pool, CHUNK
    )
    start = rz = vectors.start()
    steps, unsolved = 0, rz > 0.0
    while compiled is not None and unsolved and steps < most_steps:
        made, unsolved = compiled(vectors, enough.limits, most_steps - steps)
        steps += made
    while compiled is None and unsolved and steps < most_steps:
        steps += 1
        image, share = product(direction)
        bend = vectors.bend(image, share)
        # Without curvature along its direction it cannot be improved any more.
        unsolved = bend > 0.0
        length = rz / bend if unsolved else 0.0
        fresh, squares, promised = vectors.move(length, image)
        moved(length)
        solved = bool(enough.judge(abs(promised), squares, fresh, start))
        unsolved = unsolved and not solved and fresh > 0.0
        if unsolved:
            vectors.turn(fresh / rz)
        rz = fresh
    return x_and_more, r_and_more, steps

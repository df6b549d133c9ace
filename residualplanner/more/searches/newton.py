"""Newton steps towards the best multipliers and u of the basis problem, where the multiplicative update is slow.

Source: docs/mathematics.md section 5, the best basis of one attribute.

With ``M = sum_j l_j (c_j - v)(c_j - v)^T`` the Lagrangian ``2 tr M^{1/2} - sum_j l_j + u^T V_s u`` is concave in the
multipliers l and convex in v.  At the optimum ``length_j + z_j = 1`` with slacks z >= 0 and ``l_j z_j = 0``.  With a
small number in place of that 0, which shrinks from step to step, these equations are solved by Newton's method.
"""

from collections.abc import Iterator

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.more.searches.eigen import eigen

#: How many steps, how far towards the nearest bound they go, and how fast products of multipliers and slacks shrink.
_STEPS, _REACH, _SHRINKING = 60, 0.95, 0.2
#: Slacks begin no smaller than this, multipliers no smaller than this fraction of their mean.
_LEAST = 1e-2
#: No eigenvalue of M counts as less than this fraction of the largest.
_SINGULAR = 1e-15
#: Up to so many multiplications a step is quick.
_QUICK = 4e8


def is_quick(atoms: FloatArray) -> bool:
    """Whether steps for atoms (r, n) are cheap: their second derivatives take n^2 r^2 multiplications."""
    r, n = atoms.shape
    return float(n * r) ** 2 + float(n) ** 3 <= _QUICK


def newton_points(
    atoms: FloatArray, absent: FloatArray | None, linear: FloatArray, start: tuple[FloatArray, FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Multipliers (n,) and v (r,), one pair after another, until steps are no longer possible.

    The atoms (r, n) are the c_j, ``u^T V_s u = v^T absent v + 2 linear^T v + constant``; without ``absent`` v is kept.

    Cost: O(n^2 r^2 + n^3) a step.
    """
    multipliers, v = np.maximum(start[0], _LEAST * start[0].mean()), start[1]
    n, slack = len(multipliers), np.empty(0)
    for _ in range(_STEPS):
        lengths, by_v, second, frame = _slopes(atoms, absent, linear, multipliers, v)
        slack = slack if len(slack) else np.maximum(1 - lengths, _LEAST)
        target = _SHRINKING * float(multipliers @ slack) / n
        second[np.arange(n), np.arange(n)] -= slack / multipliers
        right = np.concatenate([1 - lengths - target / multipliers, -by_v])
        size = len(right) if absent is not None else n
        try:
            change = np.linalg.solve(second[:size, :size], right[:size])
        except np.linalg.LinAlgError:
            return
        moved = (target - slack * change[:n]) / multipliers - slack
        length = _REACH * min(_room(multipliers, change[:n]), _room(slack, moved), 1 / _REACH)
        multipliers, slack = multipliers + length * change[:n], slack + length * moved
        if absent is not None:
            v = v + length * (frame @ change[n:])
        if not (np.isfinite(multipliers).all() and np.isfinite(v).all()):
            return
        yield multipliers, v


def _slopes(
    atoms: FloatArray, absent: FloatArray | None, linear: FloatArray, multipliers: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The derivatives of the Lagrangian at some multipliers and v, in the coordinates of the eigenvectors of M.

    By the multipliers, plus 1, which are the squared lengths of columns, (n,); by v (r,); by both, twice, (n + r,
    n + r); and the eigenvectors in columns (r, r), which turn v.
    """
    (r, n), total = atoms.shape, float(multipliers.sum())
    apart = atoms - v[:, None]
    values, frame = eigen((apart * multipliers) @ apart.T)
    root = np.sqrt(np.maximum(values, values[-1] * _SINGULAR))
    a, d = frame.T @ apart, frame.T @ (v - atoms @ multipliers / total)
    stiff = 1 / (np.outer(root, root) * (root[:, None] + root))
    pairs = (a[:, None, :] * a).reshape(r * r, n)
    second = np.empty((n + r, n + r))
    second[:n, :n] = -(pairs * stiff.reshape(-1, 1)).T @ pairs
    second[:n, n:] = (-2 * a * (1 / root[:, None] + total * (stiff @ (a * d[:, None])))).T
    second[n:, :n] = second[:n, n:].T
    quadratic = np.zeros((r, r)) if absent is None else frame.T @ absent @ frame
    bent = np.diag(stiff @ d**2) + stiff * np.outer(d, d)
    second[n:, n:] = 2 * (np.diag(total / root) + quadratic - total**2 * bent)
    by_v = 2 * (total * d / root + quadratic @ (frame.T @ v) + frame.T @ linear)
    return (a * a / root[:, None]).sum(axis=0), by_v, second, frame


def _room(values: FloatArray, change: FloatArray) -> float:
    """How many times the change can be made until one of some positive values is 0."""
    falling = change < 0
    return float((values[falling] / -change[falling]).min(initial=np.inf))

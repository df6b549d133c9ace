"""What is asked of one attribute, as Gram matrices, and the basis that is best for given weights of them.

Reads: a workload.  Gives: AskedForms; a ResidualBasis, and a Basis of whole numbers.
Source: spec sections 4 and 5, eqs. (19), (31) and (36); docs/bases.md.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.bases import Basis, ResidualBasis, integer_basis, optimal_residuals, rounded_matrix
from residualplanner.errors import SolverError, WorkloadError
from residualplanner.queries import Identity
from residualplanner.workload import Workload

#: How much larger, relative, an attribute's share of the loss may get because its basis is rounded to whole numbers.
ROUNDING_LOSS = 3e-6
#: Attributes of more values are searched for with neighboring values taken together, then solved once in full.
COARSE_VALUES = 400
#: Steps for the convex problem of one attribute, up to a number of values: each solves an eigenvalue problem.
_STEPS = ((128, 60), (COARSE_VALUES, 20), (2048, 30), (10_000, 8))
#: So many binary digits, and one more for each doubling of the number of values, are tried first.
_FEWEST_DIGITS = 1


@dataclass(frozen=True, eq=False, slots=True)
class AskedForms:
    """What is asked of one attribute in all its kinds, equal columns taken together.

    Attributes:
        size: n.
        kinds: the workload's numbers of the kinds.
        group (n,): the group of each value; values in one group have equal columns, or are taken as if they had.
        width (g,): how many values each group has.
        grams (kinds, g, g): for each kind the Gram matrix of the mean columns, divided by its number of rows.
    """

    size: int
    kinds: tuple[int, ...]
    group: NDArray[np.int64]
    width: FloatArray
    grams: NDArray[np.float64]

    def restricted(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """A symmetric matrix (n, n) averaged over the groups, (g, g)."""
        spread = self.spread
        averaged: NDArray[np.float64] = spread.T @ (spread.T @ form).T
        return averaged

    @property
    def spread(self) -> sparse.csr_array:
        """The matrix that gives each value its share of a group's count, (n, g)."""
        shares = 1 / self.width[self.group]
        return sparse.csr_array((shares, self.group, np.arange(self.size + 1)), shape=(self.size, len(self.width)))

    def coarse(self, groups: int | None = None) -> "AskedForms":
        """The same with neighboring groups taken together, at most so many of them, or `COARSE_VALUES`."""
        groups, count = groups or COARSE_VALUES, len(self.width)
        if count <= groups:
            return self
        joined = np.arange(count) * groups // count
        width = np.bincount(joined, weights=self.width).astype(np.float64)
        share = np.zeros((count, groups))
        share[np.arange(count), joined] = self.width / width[joined]
        return AskedForms(self.size, self.kinds, joined[self.group], width, share.T @ self.grams @ share)

    def refined(self, found: ResidualBasis, whole: "AskedForms") -> ResidualBasis:
        """A solution for these groups as a start for the groups of ``whole``: shares and multipliers interpolated."""
        value = np.zeros(len(whole.width))
        np.maximum.at(value, whole.group, self.group)
        centers = np.array([np.flatnonzero(value == group).mean() for group in range(len(self.width))])
        at, counts = np.arange(len(value)), np.bincount(value.astype(np.int64))
        u, multipliers = (np.interp(at, centers, x / counts) for x in (found.u, found.multipliers))
        return replace(found, u=u / u.sum(), multipliers=multipliers)

    def weighted(self, weights: FloatArray) -> NDArray[np.float64]:
        """The sum of the Gram matrices times ``weights`` (kinds,), (g, g)."""
        form: NDArray[np.float64] = np.tensordot(weights, self.grams, axes=1)
        return form

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        u, form = inverse_forms(found.S)
        return np.einsum("kij,ij->k", self.grams, form), np.einsum("i,kij,j->k", u, self.grams, u)


def asked_alike(workload: Workload) -> NDArray[np.int64]:
    """Equal numbers for attributes of one size of which the same kinds are asked, (d,)."""
    return np.unique(np.column_stack([workload.domain.sizes, workload.asked]), axis=0, return_inverse=True)[1].ravel()


def asked_forms(workload: Workload) -> dict[int, AskedForms]:
    """What is asked of each attribute of more than one value of which more than single values are asked, by position.

    Attributes of one size that are asked the same kinds have the same object.
    """
    made: dict[tuple[int, tuple[int, ...]], AskedForms] = {}
    forms = {}
    for attribute, size in enumerate(workload.domain.sizes):
        kinds = tuple(np.flatnonzero(workload.asked[attribute]).tolist())
        if size > 1 and any(workload.kinds[code] != Identity() for code in kinds):
            if (size, kinds) not in made:
                made[size, kinds] = _forms(workload, size, kinds)
            forms[attribute] = made[size, kinds]
    return forms


def _forms(workload: Workload, size: int, kinds: tuple[int, ...]) -> AskedForms:
    grams = np.array([workload.kinds[code].gram(size) / workload.kinds[code].rows(size) for code in kinds])
    total = (grams / np.trace(grams, axis1=1, axis2=2)[:, None, None]).sum(axis=0)
    lengths = np.diagonal(total)
    apart = lengths[:, None] + lengths - 2 * total
    same = apart <= 1e-12 * (lengths[:, None] + lengths)
    first, group = np.unique(same.argmax(axis=1), return_inverse=True)
    width = np.bincount(group).astype(np.float64)
    return AskedForms(size, kinds, group, width, np.ascontiguousarray(grams[:, first][:, :, first]))


def in_full(
    coarse: AskedForms,
    forms: AskedForms,
    found: ResidualBasis,
    present: NDArray[np.float64],
    absent: NDArray[np.float64],
    option: str,
) -> ResidualBasis:
    """The basis for all values, from one for values taken together: threefold finer each time.

    Args:
        coarse: what is asked, with values taken together.
        forms: the same without.
        found: the basis for ``coarse``.
        present (g, g): V_t for ``forms``.
        absent (g, g): V_s for ``forms``.
        option: "orthogonal" keeps u at ``1/n`` for every value; else u is free.

    Source: spec eq. (31).
    """
    while coarse is not forms:
        finer = forms.coarse(3 * len(coarse.width))
        start, steps = coarse.refined(found, finer), steps_for(len(finer.width))
        share = np.zeros((len(finer.width), len(forms.width)))
        share[finer.group, forms.group] = forms.width[forms.group] / finer.width[finer.group]
        here = [share @ form @ share.T for form in (present, absent)]
        u = finer.width / finer.size if option == "orthogonal" else None
        found = optimal_residuals(here[0], here[1] if u is None else None, u=u, start=start, steps=steps)
        coarse = finer
    return found


def orthogonal_start(forms: AskedForms) -> ResidualBasis:
    """The best basis orthogonal to the total, where every kind counts as if it were alone."""
    even = 1 / np.trace(forms.grams, axis1=1, axis2=2)
    return optimal_residuals(forms.weighted(even), u=forms.width / forms.size, steps=steps_for(len(forms.width)))


def steps_for(values: int) -> int:
    """How many steps to take for an attribute of so many distinct values."""
    return next(steps for limit, steps in _STEPS if values <= limit)


def whole_basis(
    forms: AskedForms,
    S: FloatArray,
    is_close: Callable[[NDArray[np.float64]], bool],
    family: str,
    slack: float = 0.0,
) -> Basis:
    """The basis in whole numbers, with as few digits as ``is_close`` accepts.

    Args:
        forms: what is asked.
        S (g-1, g): the basis in real numbers.
        is_close: whether a matrix like ``S`` is as good; it may raise LinAlgError if it is no basis.
        family: the word for it in plans.
        slack: how exact the lengths of columns are, see `rounded_matrix`.

    Raises:
        SolverError: no such matrix was found.

    Source: spec eq. (36).
    """
    for exponent in range(_FEWEST_DIGITS + len(forms.width).bit_length(), 30):
        matrix = rounded_matrix(S, exponent, slack)
        with suppress(np.linalg.LinAlgError, WorkloadError):
            if is_close(np.ldexp(matrix, -exponent)):
                return integer_basis(matrix[:, forms.group], family)
    raise SolverError("no whole-number matrix comes close to the best residual basis; ask for bases='orthogonal'")


def inverse_forms(S: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """The vector u (g,) and ``G G^T`` (g, g) of a residual matrix (g-1, g)."""
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    G = inverse[:, 1:]
    return inverse[:, 0], G @ G.T


def loss_of(S: NDArray[np.float64], present: NDArray[np.float64], absent: NDArray[np.float64]) -> float:
    """``p tr(V_t G G^T) + u^T V_s u`` of a residual matrix (g-1, g).

    Source: spec eq. (31).
    """
    u, form = inverse_forms(S)
    return float((S * S).sum(axis=0).max() * (present * form).sum() + u @ absent @ u)

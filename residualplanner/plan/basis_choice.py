"""Which residual basis each attribute gets: the best for what is asked of it, given what is asked of the others.

Reads: a workload, the importance of its queries.  Gives: Basis for each attribute.
Source: spec section 5, eqs. (29) to (31); docs/bases.md.

The optimal loss is the square of ``F = sum_A sqrt(p_A v_A)``.  With p = 1 for every attribute it is concave in the
variance factors of each attribute, so its tangent lies above it: minimizing the tangent, which is a convex problem of
one attribute, never raises the loss.  Attributes that are asked the same, in the same company, share one problem.
"""

from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner._threads import one_thread
from residualplanner.bases import (
    Basis,
    ResidualBasis,
    ResidualNumbers,
    integer_basis,
    optimal_residuals,
    rounded_matrix,
    subtraction_basis,
    subtraction_numbers,
)
from residualplanner.errors import SolverError, WorkloadError
from residualplanner.plan.variances import variance_pieces
from residualplanner.queries import Identity
from residualplanner.workload import Workload

#: How much larger, relative, an attribute's share of the loss may get because its basis is rounded to whole numbers.
ROUNDING_LOSS = 3e-5
#: The search ends when a round lowers the root of the loss by less than this fraction.
_PROGRESS = 1e-6
_ROUNDS = 60
#: Attributes of more values are searched for with neighboring values taken together, then solved once in full.
COARSE_VALUES = 400
#: Above this many values a basis is not improved in full, but called near_optimal, and several threads are worth it.
_FULL_VALUES = 2048
#: Steps for the convex problem of one attribute, up to a number of values: each solves an eigenvalue problem.
_STEPS = ((128, 60), (COARSE_VALUES, 20), (2048, 30), (10_000, 8))
#: So many binary digits, and one more for each doubling of the number of values, are tried first.
_FEWEST_DIGITS = 1

BasisOption = Literal["optimal", "orthogonal"]


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


def choose_bases(workload: Workload, importance: FloatArray, option: BasisOption = "optimal") -> tuple[Basis, ...]:
    """The residual basis of every attribute, (d,), for a sum of average variances weighted by ``importance`` (q,).

    Attributes of which only single values are asked keep the subtraction basis, which is the best for them.

    Args:
        workload: the queries.
        importance (q,): how much the variance of each query's average cell counts, at least 0.
        option: "optimal", or "orthogonal": the best among the bases orthogonal to the total.

    Source: spec eq. (31); with "orthogonal" spec section 4, paper section 7.
    """
    asked = asked_forms(workload)
    many = any(len(forms.width) > _FULL_VALUES for forms in asked.values())
    with nullcontext() if many else one_thread():
        search = _Search.begin(workload, importance, {attribute: forms.coarse() for attribute, forms in asked.items()})
        for _ in range(_ROUNDS if option == "optimal" and asked else 0):
            moved = search.round()
            if not moved.value < search.value * (1 - _PROGRESS):
                search = min(search, moved, key=lambda found: found.value)
                break
            search = moved
        return search.refined(asked, option).bases(option)


def asked_forms(workload: Workload) -> dict[int, AskedForms]:
    """What is asked of each attribute of more than one value of which more than single values are asked."""
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
    """The basis for all values, from one for values taken together: threefold finer each time."""
    while coarse is not forms:
        finer = forms.coarse(3 * len(coarse.width))
        start, steps = coarse.refined(found, finer), _steps(len(finer.width))
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
    return optimal_residuals(forms.weighted(even), u=forms.width / forms.size, steps=_steps(len(forms.width)))


def _steps(values: int) -> int:
    """How many steps to take for an attribute of so many distinct values."""
    return next(steps for limit, steps in _STEPS if values <= limit)


@dataclass(frozen=True, eq=False, slots=True)
class _Search:
    """Where the search stands.

    Attributes:
        workload, importance: the problem.
        asked: what is asked of each attribute that gets a basis of its own.
        classes: the attributes that share a basis.
        found: the basis of each class.
        numbers: of all attributes, with these bases.
        value: F, the root of the optimal loss at privacy cost 1.
        present, absent (d, kinds): the slopes of F in the variance factors of each attribute and kind.
    """

    workload: Workload
    importance: FloatArray
    asked: dict[int, AskedForms]
    classes: list[list[int]]
    found: list[ResidualBasis]
    numbers: ResidualNumbers
    value: float
    present: FloatArray
    absent: FloatArray

    @classmethod
    def begin(cls, workload: Workload, importance: FloatArray, asked: dict[int, AskedForms]) -> "_Search":
        """The best bases orthogonal to the total, where every kind counts as if it were alone."""
        classes = _classes({attribute: (id(forms), b"") for attribute, forms in asked.items()})
        found = [orthogonal_start(asked[members[0]]) for members in classes]
        return cls.at(workload, importance, asked, classes, found)

    @classmethod
    def at(
        cls,
        workload: Workload,
        importance: FloatArray,
        asked: dict[int, AskedForms],
        classes: list[list[int]],
        found: list[ResidualBasis],
    ) -> "_Search":
        """Evaluate F and its slopes for given bases."""
        numbers = _numbers(workload, asked, classes, found)
        value, present, absent = _slopes(workload, numbers, importance)
        return cls(workload, importance, asked, classes, found, numbers, value, present, absent)

    def round(self) -> "_Search":
        """Minimize the tangent for every class at once; for one class after another where that raises the loss."""
        together = self._moved(None)
        if together.value <= self.value or len(together.classes) < 2:
            return together
        here = self
        for number in range(len(together.classes)):
            moved = here._moved(number)
            here = moved if moved.value <= here.value else here
        return here

    def _moved(self, only: int | None) -> "_Search":
        """The same with the bases of all classes, or of one, replaced by minimizers of the tangent."""
        start = {attribute: number for number, members in enumerate(self.classes) for attribute in members}
        classes = _classes({i: (start[i], self._weights(i).round(7).tobytes()) for i in self.asked})
        found = []
        for number, members in enumerate(classes):
            before = self.found[start[members[0]]]
            if only is not None and number != only:
                found.append(before)
                continue
            forms = self.asked[members[0]]
            found.append(
                optimal_residuals(*self._tangent(members[0]), start=before, gap=1e-6, steps=_steps(len(forms.width)))
            )
        return _Search.at(self.workload, self.importance, self.asked, classes, found)

    def _weights(self, attribute: int) -> FloatArray:
        """The slopes in the attribute's t, then s, of each of its kinds, scaled to sum 1, (2 kinds,)."""
        kinds = list(self.asked[attribute].kinds)
        slopes = np.concatenate([self.present[attribute, kinds], self.absent[attribute, kinds]])
        weights: FloatArray = slopes / slopes.sum()
        return weights

    def _tangent(self, attribute: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The matrices V_t and V_s whose objective is the tangent of F for one attribute."""
        forms, weights = self.asked[attribute], self._weights(attribute)
        half = len(forms.kinds)
        return forms.weighted(weights[:half]), forms.weighted(weights[half:])

    def refined(self, asked: dict[int, AskedForms], option: str) -> "_Search":
        """The same for all values, where values were taken together: solved in full, and improved once if feasible."""
        if all(self.asked[attribute] is forms for attribute, forms in asked.items()):
            return self
        found = []
        for members, basis in zip(self.classes, self.found, strict=True):
            forms = asked[members[0]]
            present, absent = (forms.weighted(part) for part in np.split(self._weights(members[0]), 2))
            found.append(in_full(self.asked[members[0]], forms, basis, present, absent, option))
        here = _Search.at(self.workload, self.importance, asked, self.classes, found)
        if option != "optimal" or any(len(forms.width) > _FULL_VALUES for forms in asked.values()):
            return here
        return min(here, here.round(), key=lambda search: search.value)

    def bases(self, option: str) -> tuple[Basis, ...]:
        """The bases in whole numbers."""
        bases = [subtraction_basis(size) for size in self.workload.domain.sizes]
        for members, found in zip(self.classes, self.found, strict=True):
            forms = self.asked[members[0]]
            is_near = option == "optimal" and len(forms.width) > _FULL_VALUES
            family = "near_optimal" if is_near else option
            basis = whole_basis(forms, found, *self._tangent(members[0]), family)
            for attribute in members:
                bases[attribute] = basis
        return tuple(bases)


def _classes(keys: dict[int, tuple[object, ...]]) -> list[list[int]]:
    """The attributes of each distinct key."""
    classes: dict[tuple[object, ...], list[int]] = {}
    for attribute, key in keys.items():
        classes.setdefault(key, []).append(attribute)
    return list(classes.values())


def _numbers(
    workload: Workload, asked: dict[int, AskedForms], classes: list[list[int]], found: list[ResidualBasis]
) -> ResidualNumbers:
    """The numbers of all attributes, with p = 1 for those that have a basis of their own."""
    plain = subtraction_numbers(workload.domain.sizes)
    kinds = len(workload.kinds)
    pcost = plain.pcost.copy()
    present, absent = (np.repeat(x, kinds, axis=1) for x in (plain.present, plain.absent))
    for members, basis in zip(classes, found, strict=True):
        forms = asked[members[0]]
        t, s = forms.factors(basis)
        for column, code in enumerate(forms.kinds):
            present[members, code], absent[members, code] = t[column], s[column]
        pcost[members] = 1.0
    return replace(plain, pcost=pcost, present=present, absent=absent)


def _slopes(
    workload: Workload, numbers: ResidualNumbers, importance: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """F, and its derivatives in the variance factors of each attribute and kind, (d, kinds) both.

    Source: spec eqs. (30) and (31).
    """
    closure = workload.closure
    weights = np.zeros(len(closure))
    pieces = list(variance_pieces(workload, closure, numbers))
    for queries, positions, coefficients in pieces:
        taken = coefficients * importance[queries, None]
        weights += np.bincount(positions.ravel(), weights=taken.ravel(), minlength=len(weights))
    pcost = closure.products(numbers.pcost)
    slope = np.sqrt(pcost / np.maximum(weights, 1e-300)) / 2
    present, absent = np.zeros_like(numbers.present), np.zeros_like(numbers.absent)
    ends = np.cumsum([len(block) for block in workload.blocks])
    for queries, positions, coefficients in pieces:
        order = int(np.searchsorted(ends, queries.start, side="right"))
        block, start = workload.blocks[order], int(ends[order]) - len(workload.blocks[order])
        rows = slice(queries.start - start, queries.stop - start)
        share = coefficients * slope[positions] * importance[queries, None]
        total = share.sum(axis=1)
        for column in range(order):
            inside = share[:, np.arange(share.shape[1]) >> column & 1 == 1].sum(axis=1)
            where = block.attributes[rows, column], block.kinds[rows, column]
            np.add.at(present, where, inside)
            np.add.at(absent, where, total - inside)
    value = float(np.sqrt(pcost * weights).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return value, np.nan_to_num(present / numbers.present), np.nan_to_num(absent / numbers.absent)


def whole_basis(
    forms: AskedForms, found: ResidualBasis, present: NDArray[np.float64], absent: NDArray[np.float64], family: str
) -> Basis:
    """The basis in whole numbers, with as few digits as lose little enough of ``p tr(V_t G G^T) + u^T V_s u``.

    Source: spec eq. (36).
    """
    least = _objective(found.S, present, absent)
    for exponent in range(_FEWEST_DIGITS + len(forms.width).bit_length(), 30):
        matrix = rounded_matrix(found.S, exponent)
        with suppress(np.linalg.LinAlgError, WorkloadError):
            if _objective(np.ldexp(matrix, -exponent), present, absent) <= least * (1 + ROUNDING_LOSS):
                return integer_basis(matrix[:, forms.group], family)
    raise SolverError("no whole-number matrix comes close to the best residual basis; ask for bases='orthogonal'")


def inverse_forms(S: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """U (g,) and ``G G^T`` (g, g) of a residual matrix (g-1, g)."""
    inverse = np.linalg.inv(np.vstack([np.ones(S.shape[1]), S]))
    G = inverse[:, 1:]
    return inverse[:, 0], G @ G.T


def _objective(S: NDArray[np.float64], present: NDArray[np.float64], absent: NDArray[np.float64]) -> float:
    u, form = inverse_forms(S)
    return float((S * S).sum(axis=0).max() * (present * form).sum() + u @ absent @ u)

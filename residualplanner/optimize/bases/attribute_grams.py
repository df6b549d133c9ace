"""The kinds of query of one attribute as Gram matrices, and the basis that is best for given weights of them.

Reads: a workload.  Gives: AttributeGrams; a ResidualBasis, and a Basis of integers.
Source: spec sections 4 and 5, eqs. (19), (31) and (36); docs/bases.md.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.bases import (
    Basis,
    Directions,
    ResidualBasis,
    integer_basis,
    rounded_matrix,
    weighted_directions,
)
from residualplanner.errors import SolverError, WorkloadError
from residualplanner.optimize.bases.tangent import Tangent, inverse_forms
from residualplanner.queries import SIZE_LIMIT, Kind
from residualplanner.workload import Workload

#: How much larger, relative, an attribute's part of the loss may get because its basis is rounded to integers.
ROUNDING_LOSS = 3e-6
#: Attributes of more values are searched for with neighboring values merged, then solved once in full.
COARSE_VALUES = 400
#: Steps for the convex problem of one attribute, up to a number of values: each solves an eigenvalue problem.
_STEPS = ((128, 60), (COARSE_VALUES, 20), (2048, 30), (math.inf, 8))
#: So many binary digits, and one more for each doubling of the number of values, are tried first.
_FEWEST_DIGITS = 1
#: Up to so many rows of a kind are scaled to one length to see which directions matter; rows with less than this part
#: of their squared length off their mean depend on the total alone.
_SCALED_ROWS, CONSTANT = 2**20, 1e-12


@dataclass(frozen=True, eq=False)
class AttributeGrams:
    """The Gram matrices of all kinds of query of one attribute, equal columns merged.

    Attributes:
        size: n.
        kinds: the workload's numbers of the kinds.
        group (n,): the group of each value; values in one group have equal columns, or are treated as if they had.
        width (g,): how many values each group has.
        grams (kinds, 1+g, 1+g): for each kind the augmented Gram matrix of the mean columns, divided by its number of
            rows: those of ``[c | D]``, where c are the constant parts of the rows.
        reach (g, g): the Gram matrix of all rows without their constants, each scaled to length 1.
    """

    size: int
    kinds: tuple[int, ...]
    group: NDArray[np.int64]
    width: FloatArray
    grams: NDArray[np.float64]
    reach: NDArray[np.float64]

    @cached_property
    def directions(self) -> Directions:
        """The directions that queries depend on, whatever the scale of their rows."""
        return weighted_directions(self.reach)

    def restricted(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """An augmented symmetric matrix (1 + n, 1 + n) averaged over the groups, (1 + g, 1 + g)."""
        spread = sparse.csr_array(sparse.block_diag([np.ones((1, 1)), self.spread]))
        return np.asarray(spread.T @ (spread.T @ form).T)

    @property
    def spread(self) -> sparse.csr_array:
        """The matrix that divides the count of a group evenly among its values, (n, g)."""
        fractions = 1 / self.width[self.group]
        return sparse.csr_array((fractions, self.group, np.arange(self.size + 1)), shape=(self.size, len(self.width)))

    def coarse(self, groups: int | None = None) -> "AttributeGrams":
        """The same with neighboring groups merged, at most so many of them, or `COARSE_VALUES`."""
        groups, count = groups or COARSE_VALUES, len(self.width)
        if count <= groups:
            return self
        merged = np.arange(count) * groups // count
        width = np.bincount(merged, weights=self.width).astype(np.float64)
        averaging = np.zeros((count, groups))
        averaging[np.arange(count), merged] = self.width / width[merged]
        whole = np.pad(averaging, ((1, 0), (1, 0)))
        whole[0, 0] = 1.0
        grams, reach = whole.T @ self.grams @ whole, averaging.T @ self.reach @ averaging
        return AttributeGrams(self.size, self.kinds, merged[self.group], width, grams, reach)

    def refined(self, found: ResidualBasis, whole: "AttributeGrams") -> ResidualBasis:
        """A solution for these groups as a start for the groups of ``whole``: u and multipliers are interpolated."""
        value = np.zeros(len(whole.width))
        np.maximum.at(value, whole.group, self.group)
        centers = np.array([np.flatnonzero(value == group).mean() for group in range(len(self.width))])
        at, counts = np.arange(len(value)), np.bincount(value.astype(np.int64))
        u, multipliers = (np.interp(at, centers, x / counts) for x in (found.u, found.multipliers))
        return replace(found, u=u / u.sum(), multipliers=multipliers)

    def weighted(self, weights: FloatArray) -> NDArray[np.float64]:
        """The sum of the augmented Gram matrices times ``weights`` (kinds,), (1 + g, 1 + g)."""
        return np.asarray(np.tensordot(weights, self.grams, axes=1))

    def tangent(self, weights: FloatArray) -> Tangent:
        """The objective for ``weights`` (2 kinds,): of each kind's t, then of each kind's s."""
        present, absent = (self.weighted(part) for part in np.split(weights, 2))
        return Tangent.of(present, absent)

    @property
    def scales(self) -> FloatArray:
        """The size of each kind, apart from constant parts, (kinds,)."""
        return np.asarray(np.trace(self.grams[:, 1:, 1:], axis1=1, axis2=2))

    def exact(self, found: ResidualBasis) -> Any:
        """A basis as the methods below take it: the residual matrix (g-1, g)."""
        return found.S

    def rounded(self, found: ResidualBasis, exponent: int, slack: float) -> Any:
        """The same in multiples of ``2**-exponent``."""
        return np.ldexp(rounded_matrix(found.S, exponent, slack), -exponent)

    def loss(self, weights: FloatArray, near: Any) -> float:
        """The objective of `tangent` at a basis from `exact` or `rounded`.

        Raises:
            LinAlgError: it is no basis.
        """
        return self.tangent(weights).loss(near)

    def rows_present(self, workload: Workload, near: Any) -> FloatArray:
        """The present factor of every row of every kind for noise of cost 1, divided by the row's squared length."""
        spread, (_, form) = self.spread, inverse_forms(near)
        whole, even = spread @ (spread @ form).T, np.eye(self.size)
        kinds = [workload.kinds[code].centered(self.size).rows for code in self.kinds]
        parts = [kind.row_forms(whole) / np.maximum(kind.row_forms(even), 1e-300) for kind in kinds]
        return np.concatenate(parts) * float((near * near).sum(axis=0).max())

    def row_factors(self, workload: Workload, kind: int, near: Any) -> FloatArray:
        """The variance factors s and t of every row of a kind of the workload, (2, rows)."""
        rows, constant = workload.kinds[kind].centered(self.size)
        u, form = inverse_forms(near)
        spread = self.spread
        absent = (constant + rows.apply(spread @ u, 0)) ** 2
        return np.stack([absent, np.maximum(rows.row_forms(spread @ (spread @ form).T), 0.0)])

    def scaled_factors(self, workload: Workload, kind: int, near: Any) -> FloatArray:
        """The factors s and p t of the rows of a kind, (2, rows), where p is the cost factor."""
        return np.asarray(self.row_factors(workload, kind, near) * [[1.0], [float((near * near).sum(axis=0).max())]])

    def found_factors(self, workload: Workload, kind: int, found: ResidualBasis) -> FloatArray:
        """The factors of every row for a basis in real numbers, (2, rows)."""
        return self.row_factors(workload, kind, self.exact(found))

    def row_orbits(self, kind: int, rows: int) -> NDArray[np.int64]:
        """Equal numbers for rows of a kind that have the same factors by symmetry, (rows,)."""
        del kind
        return np.arange(rows)

    def tangent_of_rows(self, workload: Workload, slopes: list[tuple[int, FloatArray, FloatArray]]) -> Tangent:
        """The objective for slopes in the factors s and t of every row, of some kinds of the workload; of trace 1."""
        both = np.zeros((2, 1 + len(self.width), 1 + len(self.width)))
        for kind, *parts in slopes:
            for number, slope in enumerate(parts):
                both[number] += self.restricted(workload.kinds[kind].augmented_gram(self.size, slope))
        absent, present = both / np.trace(both[:, 1:, 1:], axis1=1, axis2=2).sum()
        return Tangent.of(present, absent)

    def made(self, near: Any, exponent: int, family: str, gap: float) -> Basis:
        """The basis of integers of one from `rounded`."""
        matrix = np.rint(np.ldexp(near, exponent)).astype(np.int64)
        return integer_basis(matrix[:, self.group], family, gap=gap)

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        u, form = inverse_forms(found.S)
        whole = np.concatenate([[1.0], u])
        present = np.einsum("kij,ij->k", self.grams[:, 1:, 1:], form)
        return present, np.einsum("i,kij,j->k", whole, self.grams, whole)


def kind_classes(workload: Workload) -> NDArray[np.int64]:
    """Equal numbers for attributes of one size that have the same kinds, (d,)."""
    return np.unique(np.column_stack([workload.domain.sizes, workload.uses]), axis=0, return_inverse=True)[1].ravel()


def attribute_grams(
    workload: Workload, forms_of: Callable[[Workload, int, tuple[int, ...]], AttributeGrams] | None = None
) -> dict[int, AttributeGrams]:
    """The Gram matrices of each attribute with more than one value and another kind than single values, by position.

    An attribute of a joint kind has none: it has the subtraction basis, which treats all its values in the same way.
    Attributes of one size and the same kinds have the same object, made by ``forms_of``, or `plain_forms`.
    """
    made: dict[tuple[int, tuple[int, ...]], AttributeGrams] = {}
    forms, make = {}, forms_of or plain_forms
    for attribute in searched_attributes(workload):
        key = workload.domain.sizes[attribute], tuple(np.flatnonzero(workload.uses[attribute]).tolist())
        if key not in made:
            made[key] = make(workload, *key)
        forms[attribute] = made[key]
    return forms


def searched_attributes(workload: Workload) -> list[int]:
    """The attributes whose basis is searched for, ascending."""
    found = []
    for attribute, size in enumerate(workload.domain.sizes):
        own = [workload.kinds[code] for code in np.flatnonzero(workload.uses[attribute]).tolist()]
        if size > 1 and not all(kind.is_identity for kind in own) and not any(kind.at_least for kind in own):
            found.append(attribute)
    return found


def plain_forms(workload: Workload, size: int, kinds: tuple[int, ...]) -> AttributeGrams:
    """The Gram matrices of kinds, by their numbers in a workload, with equal columns merged.

    Raises:
        WorkloadError: there are too many values for matrices of n x n.
    """
    if size > SIZE_LIMIT:
        raise WorkloadError(
            f"an attribute of {size:,} values, more than {SIZE_LIMIT:,}, can only have hierarchies whose groups lie "
            "inside one another or apart, and one basis for all sets; leave out queries that overlap, or "
            "'optimal_by_set'"
        )
    own = [workload.kinds[code] for code in kinds]
    same = np.unique(np.column_stack([kind.equal_columns(size) for kind in own]), axis=0, return_inverse=True)[1]
    _, first, number = np.unique(same, return_index=True, return_inverse=True)
    order = np.argsort(first)
    group = np.argsort(order)[number.ravel()]
    first = first[order]
    corner = np.concatenate([[0], 1 + first])
    grams = np.array([kind.augmented_gram(size)[np.ix_(corner, corner)] / kind.rows(size) for kind in own])
    reach: NDArray[np.float64] = np.sum([_reach(kind, size)[np.ix_(first, first)] for kind in own], axis=0)
    width = np.bincount(group).astype(np.float64)
    return AttributeGrams(size, kinds, group, width, np.ascontiguousarray(grams), reach)


def _reach(kind: Kind, size: int) -> NDArray[np.float64]:
    """The Gram matrix of a kind's rows without their constants, each scaled to length 1, with trace 1 or less.

    Kinds of very many rows have rows of like size.
    """
    rows, count = kind.centered(size).rows, kind.rows(size)
    if count > _SCALED_ROWS:
        gram = rows.gram(size)
        return gram / float(np.trace(gram))
    lengths = rows.row_forms(np.eye(size) - 1 / size)
    is_some = lengths > CONSTANT * rows.row_forms(np.eye(size))
    return rows.weighted_gram(np.divide(1.0, lengths, where=is_some, out=np.zeros(count)), size) / count


def in_full(
    coarse: AttributeGrams, forms: AttributeGrams, found: ResidualBasis, tangent: Tangent, option: str
) -> ResidualBasis:
    """The basis for all values, from one for merged values: threefold finer each time.

    Args:
        coarse: the Gram matrices with values merged.
        forms: the same without.
        found: the basis for ``coarse``.
        tangent: the objective, for ``forms``.
        option: "orthogonal" keeps u at ``1/n`` for every value; else u is free.

    Source: spec eq. (31).
    """
    while coarse is not forms:
        finer = forms.coarse(3 * len(coarse.width))
        start, steps = coarse.refined(found, finer), steps_for(len(finer.width))
        averaging = np.zeros((len(finer.width), len(forms.width)))
        averaging[finer.group, forms.group] = forms.width[forms.group] / finer.width[finer.group]
        here = tangent.restricted(averaging)
        if option == "orthogonal":
            found = best_orthogonal(finer, here, start=start, steps=steps)
        else:
            found = here.best(finer.directions, start=start, steps=steps)
        coarse = finer
    return found


def orthogonal_start(forms: AttributeGrams) -> ResidualBasis:
    """The best basis orthogonal to the total, where every kind counts as if it were alone."""
    tangent = forms.tangent(np.tile(1 / forms.scales, 2))
    return best_orthogonal(forms, tangent, steps=steps_for(len(forms.width)))


def best_orthogonal(forms: AttributeGrams, tangent: Tangent, **how: Any) -> ResidualBasis:
    """The best basis orthogonal to the total for the present part of a tangent, see `optimal_residuals`."""
    return tangent.best_orthogonal(forms.width / forms.size, forms.directions, **how)


def steps_for(values: int) -> int:
    """How many steps to take for an attribute of so many distinct values."""
    return next(steps for limit, steps in _STEPS if values <= limit)


def whole_basis(
    forms: AttributeGrams,
    found: ResidualBasis,
    is_close: Callable[[Any], bool],
    family: str,
    slack: float = 0.0,
    gap_of: Callable[[Any], float] = lambda _: math.inf,
) -> Basis:
    """The basis in integers, with as few digits as ``is_close`` accepts.

    Args:
        forms: the Gram matrices.
        found: the basis in real numbers.
        is_close: whether one from `AttributeGrams.rounded` is as good; it may raise LinAlgError if it is no basis.
        family: the word for it in plans.
        slack: how exact the lengths of columns are, see `rounded_matrix`.
        gap_of: the gap of one from `AttributeGrams.rounded`, if one is proved.

    Raises:
        SolverError: no such matrix was found.

    Source: spec eq. (36).
    """
    for exponent in range(_FEWEST_DIGITS + len(forms.width).bit_length(), 30):
        with suppress(np.linalg.LinAlgError, WorkloadError):
            near = forms.rounded(found, exponent, slack)
            if is_close(near):
                return forms.made(near, exponent, family, gap_of(near))
    raise SolverError("no integer matrix comes close to the best residual basis; ask for bases='orthogonal'")

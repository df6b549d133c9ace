"""The kinds of query of one attribute as Gram matrices, and what the search for its basis needs of them.

Source: eqs. (19), (31) and (36); docs/bases.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.basis_problem import Directions, ResidualBasis
from residualplanner.more.searches.optimal import Tangent, inverse_forms, weighted_directions
from residualplanner.more.searches.rounding import rounded_matrix

#: Attributes of more values are searched for with neighboring values merged, to so many, then to so many, and then
#: solved in full.
COARSE_VALUES, MERGED = 400, (159, 319)
#: Up to so many rows of a kind are scaled to one length to see which directions matter; rows with less than this part
#: of their squared length off their mean depend on the total alone.
_SCALED_ROWS, CONSTANT = 2**20, 1e-12


@dataclass(frozen=True, eq=False)
class AttributeGrams:
    """The Gram matrices of all kinds of query of one attribute, equal columns merged.

    A basis that is `exact` or `rounded` is passed on as ``near``: here one in real numbers, whose S may be rounded.
    """

    size: int  # n
    kinds: tuple[int, ...]  # the workload's numbers of the kinds
    own: tuple[Kind, ...]  # the kinds
    group: NDArray[np.int64]  # (n,): of each value; those in one group have equal columns, or are treated as if so
    width: FloatArray  # (g,): how many values each group has
    #: (kinds, 1+g, 1+g): the Gram matrices of the mean columns of ``[c | D]``, with c the constant parts of the rows,
    #: each divided by its number of rows.
    grams: NDArray[np.float64]
    reach: NDArray[np.float64]  # (g, g): of all rows without their constants, each scaled to length 1

    @cached_property
    def directions(self) -> Directions:
        """The directions that queries depend on, whatever the scale of their rows."""
        return weighted_directions(self.reach)

    @cached_property
    def scales(self) -> FloatArray:
        """The size of each kind, apart from constant parts, (kinds,)."""
        return np.asarray(np.trace(self.grams[:, 1:, 1:], axis1=1, axis2=2))

    @property
    def _spread(self) -> sparse.csr_array:
        """The matrix that divides the count of a group evenly among its values, (n, g)."""
        fractions = 1 / self.width[self.group]
        return sparse.csr_array((fractions, self.group, np.arange(self.size + 1)), shape=(self.size, len(self.width)))

    @cached_property
    def _augmented_spread(self) -> sparse.csr_array:
        """The same beside a 1 for the constant parts of rows, (1 + n, 1 + g)."""
        return sparse.csr_array(sparse.block_diag([np.ones((1, 1)), self._spread]))

    @cached_property
    def _lengths(self) -> list[FloatArray]:
        """The squared lengths of the rows of each kind, without their constants."""
        even = np.eye(self.size)
        return [kind.centered(self.size).rows.row_forms(even) for kind in self.own]

    def augmented_rows(self) -> Iterator[FloatArray]:
        """For each kind the columns ``[c | D]`` of one value of each group, (rows, 1+g)."""
        first = np.unique(self.group, return_index=True)[1]
        for kind in self.own:
            rows, constant = kind.centered(self.size)
            matrix = rows.sparse_rows(self.size)[:, first].toarray()
            yield np.column_stack([np.broadcast_to(constant, len(matrix)), matrix])

    def coarse(self, groups: int) -> "AttributeGrams":
        """The same with neighboring groups merged to at most so many, an odd number, where there are many.

        The nearer to an end, where solutions change most, the fewer are merged in one.
        """
        count = len(self.width)
        if count <= COARSE_VALUES:
            return self
        angles = np.arccos(1 - (2 * np.arange(count) + 1) / count) / np.pi
        half = np.unique((angles[: (count + 1) // 2] * groups).astype(int), return_inverse=True)[1]
        merged = np.concatenate([half, 2 * half[-1] - half[: count // 2][::-1]])  # the same from both ends
        width = np.bincount(merged, weights=self.width).astype(np.float64)
        averaging = np.zeros((count, len(width)))
        averaging[np.arange(count), merged] = self.width / width[merged]
        augmented = np.pad(averaging, ((1, 0), (1, 0)))
        augmented[0, 0] = 1.0
        grams, reach = augmented.T @ self.grams @ augmented, averaging.T @ self.reach @ averaging
        return AttributeGrams(self.size, self.kinds, self.own, merged[self.group], width, grams, reach)

    def refined(self, found: ResidualBasis, finer: "AttributeGrams") -> ResidualBasis:
        """A solution for these groups as a start for the groups of ``finer``: u and multipliers are interpolated."""
        centers, at = np.bincount(self.group, finer.group) / self.width, np.arange(len(finer.width))
        u, multipliers = (np.interp(at, centers, x / self.width) * finer.width for x in (found.u, found.multipliers))
        return replace(found, u=u / u.sum(), multipliers=multipliers)

    def tangent(self, weights: FloatArray) -> Tangent:
        """The objective for ``weights`` (2 kinds,): of each kind's t, then of each kind's s."""
        present, absent = (np.asarray(np.tensordot(part, self.grams, axes=1)) for part in np.split(weights, 2))
        return Tangent.of(present, absent)

    def tangent_of_rows(self, slopes: list[tuple[int, FloatArray, FloatArray]]) -> Tangent:
        """The objective for slopes in the factors s and t of every row, of some kinds by number; of trace 1."""
        by_value = np.zeros((2, 1 + self.size, 1 + self.size))
        for kind, *parts in slopes:
            for number, slope in enumerate(parts):
                by_value[number] += self._kind(kind).augmented_gram(self.size, slope)
        spread = self._augmented_spread
        both = np.array([np.asarray(spread.T @ (spread.T @ form).T) for form in by_value])
        absent, present = both / np.trace(both[:, 1:, 1:], axis1=1, axis2=2).sum()
        return Tangent.of(present, absent)

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        u, form = inverse_forms(found)
        augmented = np.concatenate([[1.0], u])
        present = np.einsum("kij,ij->k", self.grams[:, 1:, 1:], form)
        return present, np.einsum("i,kij,j->k", augmented, self.grams, augmented)

    def gram_of_rows(self, weights: Sequence[FloatArray]) -> NDArray[np.float64]:
        """The Gram matrix of the rows of all kinds without their constants, with weights (rows,) each, (g, g)."""
        pairs = zip(self.own, weights, strict=True)
        form = np.sum([kind.centered(self.size).rows.weighted_gram(each, self.size) for kind, each in pairs], axis=0)
        return np.asarray(self._spread.T @ (self._spread.T @ form).T)

    def variances(self, kind: int, form: NDArray[np.float64]) -> FloatArray:
        """What the rows of a kind without their constants make of a form (g, g) on the groups, (rows,)."""
        rows = self._kind(kind).centered(self.size).rows
        return np.asarray(np.maximum(rows.row_forms(self._spread @ (self._spread @ form).T), 0.0))

    def real_factors(self, kind: int, found: ResidualBasis) -> FloatArray:
        """The factors s and t of every row of a kind for a basis in real numbers, (2, rows)."""
        return self._factors_of_rows(kind, *inverse_forms(found))

    def row_orbits(self, kind: int) -> NDArray[np.int64]:
        """Equal numbers for rows of a kind that have the same factors by symmetry, (rows,)."""
        return np.arange(self._kind(kind).rows(self.size))

    def exact(self, found: ResidualBasis) -> Any:
        """A basis in real numbers as the methods below take it."""
        return found

    def rounded(self, found: ResidualBasis, exponent: int, slack: float) -> Any:
        """The same in multiples of ``2**-exponent``, see `rounded_matrix`."""
        return replace(found, S=np.ldexp(rounded_matrix(found.S, exponent, slack), -exponent))

    def in_integers(self, near: Any, exponent: int, family: str, gap: float) -> Basis:
        """The basis of integers of one that is rounded."""
        matrix = np.rint(np.ldexp(near.S, exponent)).astype(np.int64)
        return integer_basis(matrix[:, self.group], family, gap=gap)

    def loss(self, weights: FloatArray, near: Any) -> float:
        """The objective of `tangent` at a basis.  Raises LinAlgError: it is no basis."""
        return self.tangent(weights).loss(near)

    def pcost(self, near: Any) -> float:
        """The largest squared length of a column."""
        return float((near.S * near.S).sum(axis=0).max())

    def row_factors(self, near: Any, kinds: Sequence[int]) -> list[FloatArray]:
        """For each of some kinds by number the factors s and t of every row, (2, rows)."""
        forms = inverse_forms(near)
        return [self._factors_of_rows(kind, *forms) for kind in kinds]

    def scaled_factors(self, near: Any, kinds: Sequence[int]) -> list[FloatArray]:
        """The same with p t in place of t, where p is the cost factor."""
        scale = [[1.0], [self.pcost(near)]]
        return [np.asarray(factors * scale) for factors in self.row_factors(near, kinds)]

    def rows_present(self, near: Any) -> FloatArray:
        """The present factor of every row of every kind for noise of cost 1, divided by the row's squared length."""
        pairs = zip(self.row_factors(near, self.kinds), self._lengths, strict=True)
        parts = [factors[1] / np.maximum(lengths, 1e-300) for factors, lengths in pairs]
        return np.concatenate(parts) * self.pcost(near)

    def _kind(self, number: int) -> Kind:
        return self.own[self.kinds.index(number)]

    def _factors_of_rows(self, kind: int, u: FloatArray, form: NDArray[np.float64]) -> FloatArray:
        rows, constant = self._kind(kind).centered(self.size)
        absent = (constant + rows.apply(self._spread @ u, 0)) ** 2
        return np.stack([absent, self.variances(kind, form)])


#: Makes the Gram matrices of some kinds of a workload, by their numbers, on attributes of a size.
GramsOf = Callable[[Workload, int, tuple[int, ...]], AttributeGrams]


def kind_classes(workload: Workload) -> NDArray[np.int64]:
    """Equal numbers for attributes of one size that have the same kinds, (d,)."""
    return np.unique(np.column_stack([workload.domain.sizes, workload.uses]), axis=0, return_inverse=True)[1].ravel()


def searched_attributes(workload: Workload) -> list[int]:
    """The attributes whose basis is searched for, ascending: those with several values and a kind besides single ones.

    Those of a joint kind have the subtraction basis, which treats all values in the same way.
    """
    found = []
    for attribute, size in enumerate(workload.domain.sizes):
        own = [workload.kinds[code] for code in np.flatnonzero(workload.uses[attribute]).tolist()]
        if size > 1 and not all(kind.is_identity for kind in own) and not any(kind.at_least for kind in own):
            found.append(attribute)
    return found


def attribute_grams(workload: Workload, grams_of: GramsOf) -> dict[int, AttributeGrams]:
    """The Gram matrices of each attribute whose basis is searched for; one object for those of one size and kinds."""
    made: dict[tuple[int, tuple[int, ...]], AttributeGrams] = {}
    grams = {}
    for attribute in searched_attributes(workload):
        key = workload.domain.sizes[attribute], tuple(np.flatnonzero(workload.uses[attribute]).tolist())
        if key not in made:
            made[key] = grams_of(workload, *key)
        grams[attribute] = made[key]
    return grams


def plain_grams(workload: Workload, size: int, kinds: tuple[int, ...]) -> AttributeGrams:
    """The same for kinds by their numbers in a workload; WorkloadError for too many values for matrices of n x n."""
    if size > SIZE_LIMIT:
        raise WorkloadError(
            f"an attribute of {size:,} values, more than {SIZE_LIMIT:,}, can only have hierarchies whose groups lie "
            "inside one another or apart, and one basis for all sets; leave out queries that overlap, or "
            "'optimal_by_set'"
        )
    return grams_of_kinds(size, kinds, tuple(workload.kinds[code] for code in kinds))


def grams_of_kinds(size: int, kinds: tuple[int, ...], own: tuple[Kind, ...]) -> AttributeGrams:
    """The Gram matrices of the kinds ``own``, whatever numbers they have, with equal columns merged."""
    same = np.unique(np.column_stack([kind.equal_columns(size) for kind in own]), axis=0, return_inverse=True)[1]
    _, first, number = np.unique(same, return_index=True, return_inverse=True)
    order = np.argsort(first)
    group = np.argsort(order)[number.ravel()]
    first = first[order]
    corner = np.concatenate([[0], 1 + first])
    grams = np.array([kind.augmented_gram(size)[np.ix_(corner, corner)] / kind.rows(size) for kind in own])
    reach: NDArray[np.float64] = np.sum([_reach(kind, size)[np.ix_(first, first)] for kind in own], axis=0)
    width = np.bincount(group).astype(np.float64)
    return AttributeGrams(size, kinds, own, group, width, np.ascontiguousarray(grams), reach)


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

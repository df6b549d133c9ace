"""The kinds of query of one attribute as Gram matrices, and what the search for its basis needs of them.

Source: eqs. (19), (31) and (36); docs/bases.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.basis_problem import Directions, ResidualBasis
from residualplanner.more.searches.optimal import weighted_directions
from residualplanner.more.searches.rounding import rounded_matrix
from residualplanner.more.searches.tangent import Tangent, forms_of_found, inverse_forms

#: Attributes of more values are searched for with neighboring values merged, then solved once in full.
COARSE_VALUES = 400


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
        return np.asarray(self._augmented_spread.T @ (self._augmented_spread.T @ form).T)

    @cached_property
    def _augmented_spread(self) -> sparse.csr_array:
        """`spread` beside a 1 for the constant parts of rows, (1 + n, 1 + g)."""
        return sparse.csr_array(sparse.block_diag([np.ones((1, 1)), self.spread]))

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
        augmented = np.pad(averaging, ((1, 0), (1, 0)))
        augmented[0, 0] = 1.0
        grams, reach = augmented.T @ self.grams @ augmented, averaging.T @ self.reach @ averaging
        return AttributeGrams(self.size, self.kinds, merged[self.group], width, grams, reach)

    def refined(self, found: ResidualBasis, finer: "AttributeGrams") -> ResidualBasis:
        """A solution for these groups as a start for the groups of ``finer``: u and multipliers are interpolated."""
        value = np.zeros(len(finer.width))
        np.maximum.at(value, finer.group, self.group)
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
        by_value, even = spread @ (spread @ form).T, np.eye(self.size)
        kinds = [workload.kinds[code].centered(self.size).rows for code in self.kinds]
        parts = [kind.row_forms(by_value) / np.maximum(kind.row_forms(even), 1e-300) for kind in kinds]
        return np.concatenate(parts) * float((near * near).sum(axis=0).max())

    def row_factors(self, workload: Workload, kind: int, near: Any) -> FloatArray:
        """The variance factors s and t of every row of a kind of the workload, (2, rows)."""
        return self._factors_of_rows(workload, kind, *inverse_forms(near))

    def _factors_of_rows(self, workload: Workload, kind: int, u: FloatArray, form: NDArray[np.float64]) -> FloatArray:
        rows, constant = workload.kinds[kind].centered(self.size)
        spread = self.spread
        absent = (constant + rows.apply(spread @ u, 0)) ** 2
        return np.stack([absent, np.maximum(rows.row_forms(spread @ (spread @ form).T), 0.0)])

    def scaled_factors(self, workload: Workload, kinds: Sequence[int], near: Any) -> list[FloatArray]:
        """For each kind the factors s and p t of its rows, (2, rows), where p is the cost factor."""
        scale, forms = [[1.0], [float((near * near).sum(axis=0).max())]], inverse_forms(near)
        return [np.asarray(self._factors_of_rows(workload, kind, *forms) * scale) for kind in kinds]

    def real_factors(self, workload: Workload, kind: int, found: ResidualBasis) -> FloatArray:
        """The factors of every row for a basis in real numbers, (2, rows)."""
        return self._factors_of_rows(workload, kind, *forms_of_found(found))

    def row_orbits(self, kind: int, rows: int) -> NDArray[np.int64]:
        """Equal numbers for rows of a kind that have the same factors by symmetry, (rows,)."""
        del kind
        return np.arange(rows)

    def tangent_of_rows(self, workload: Workload, slopes: list[tuple[int, FloatArray, FloatArray]]) -> Tangent:
        """The objective for slopes in the factors s and t of every row, of some kinds of the workload; of trace 1."""
        by_value = np.zeros((2, 1 + self.size, 1 + self.size))
        for kind, *parts in slopes:
            for number, slope in enumerate(parts):
                by_value[number] += workload.kinds[kind].augmented_gram(self.size, slope)
        both = np.array([self.restricted(form) for form in by_value])
        absent, present = both / np.trace(both[:, 1:, 1:], axis1=1, axis2=2).sum()
        return Tangent.of(present, absent)

    def in_integers(self, near: Any, exponent: int, family: str, gap: float) -> Basis:
        """The basis of integers of one from `rounded`."""
        matrix = np.rint(np.ldexp(near, exponent)).astype(np.int64)
        return integer_basis(matrix[:, self.group], family, gap=gap)

    def factors(self, found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        u, form = inverse_forms(found.S)
        augmented = np.concatenate([[1.0], u])
        present = np.einsum("kij,ij->k", self.grams[:, 1:, 1:], form)
        return present, np.einsum("i,kij,j->k", augmented, self.grams, augmented)

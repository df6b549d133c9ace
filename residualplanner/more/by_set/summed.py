"""The sum of average variances in a search for bases by set, and its slopes.

Source: eqs. (39) and (40).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.cost import LossSlopes, Maxima
from residualplanner.more.by_set.group_basis import GroupBasis
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.rest_tables import RestTables, Table
from residualplanner.more.by_set.table_costs import Rows
from residualplanner.more.by_set.terms import RestTable

#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60


@dataclass(frozen=True, eq=False, slots=True)
class SetVariances:
    """The weight of each set's noise in the loss, and what the chain rule needs."""

    weights: FloatArray  # (m,): V_A; the loss is the sum of V_A sigma_A**2
    _problem: BySetProblem
    _bases: Sequence[GroupBasis]
    _present: FloatArray
    _rests: RestTables
    _formed: list[Table]
    _forms: FloatArray
    _values: FloatArray

    @classmethod
    def of(cls, problem: BySetProblem, bases: Sequence[GroupBasis]) -> "SetVariances":
        """Evaluate (40), with the basis of each group."""
        terms, grams = problem.terms, {i: axis.grams for i, axis in problem.axes.items()}
        rests = RestTables(terms.rests, [basis.offset for basis in bases])
        formed = [_formed(rests[number], terms.rests[number], kinds, grams) for number, kinds in terms.forms]
        products = [float(np.vdot(rests[number], f)) for (number, _), f in zip(terms.forms, formed, strict=True)]
        # ||W G||**2 and ||W u||**2 per row, for each group and kind.
        present = [np.tensordot(basis.axis.grams[:, 1:, 1:], basis.form, axes=2) for basis in bases]
        absent = [basis.axis.grams @ basis.u @ basis.u for basis in bases]
        forms = np.concatenate([[1.0], *absent, products])
        factors = np.concatenate([*present, [1.0]])
        values = terms.weight * factors[terms.present].prod(axis=1)
        weights = np.bincount(terms.set, values * forms[terms.form], len(problem.cost_class)).astype(np.float64)
        weights = np.maximum(weights, _LEAST * weights.max())
        return cls(weights, problem, bases, factors, rests, formed, forms, values)

    def slopes(self, by_weights: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
        """From the slopes by the weights (m,): by the form (r, r) and by u (1+r,) of each group's basis."""
        terms = self._problem.terms
        by_set = by_weights[terms.set]
        by_form = np.bincount(terms.form, by_set * self._values, len(self._forms)).astype(np.float64)
        by_present = np.zeros(len(self._present))
        common, factors_of = by_set * terms.weight * self._forms[terms.form], self._present[terms.present]
        for column in range(terms.present.shape[1]):
            others = np.delete(factors_of, column, axis=1).prod(axis=1)
            by_present += np.bincount(terms.present[:, column], common * others, len(by_present))
        factors, by_tables = len(self._present) - 1, dict[int, Table]()
        for (number, _), formed, slope in zip(terms.forms, self._formed, by_form[1 + factors :].tolist(), strict=True):
            by_tables[number] = by_tables.get(number, 0.0) + 2 * slope * formed
        by_b = self._rests.slopes(by_tables)
        by_forms, by_us, start = list[FloatArray](), list[FloatArray](), 0
        for basis, by_offset in zip(self._bases, by_b, strict=True):
            grams, end = basis.axis.grams, start + len(basis.axis.grams)
            by_forms.append(np.tensordot(by_present[start:end], grams[:, 1:, 1:], axes=1))
            by_us.append(2 * np.tensordot(by_form[1 + start : 1 + end], grams, axes=1) @ basis.u)
            by_us[-1][1:] += by_offset
            start = end
        return by_forms, by_us


def _formed(table: Table, rest: RestTable, kinds: tuple[int, ...], grams: dict[int, FloatArray]) -> Table:
    """The Gram matrices of the kinds, applied to the axes of a rest table."""
    pairs = zip(rest.attributes, kinds, strict=True)
    # Each product takes the first axis and puts it last, so that in the end all are in order.
    return reduce(lambda left, pair: np.tensordot(left, grams[pair[0]][pair[1]], axes=(0, 0)), pairs, table)


class SummedVariances:
    """The sum of variances; each noise is best divided among its sets for the bases at hand."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem

    def variances(self, bases: Sequence[GroupBasis]) -> SetVariances:
        """The weights of the noise of all sets."""
        return SetVariances.of(self.problem, bases)

    def noise_weights(self, weights: FloatArray) -> FloatArray:
        """The weight of each noise, best divided among its sets: ``(sum sqrt(V_A f_A))**2``."""
        roots = np.sqrt(weights * self.problem.factor)
        summed: FloatArray = np.bincount(self.problem.noise_of_set, roots).astype(np.float64)
        return summed * summed

    def value(self, bases: Sequence[GroupBasis], precision: FloatArray) -> float:
        """The logarithm of the loss."""
        return math.log(float((self.noise_weights(self.variances(bases).weights) / precision).sum()))

    def value_and_slopes(
        self, bases: Sequence[GroupBasis], precision: FloatArray, maxima: Maxima
    ) -> tuple[float, LossSlopes]:
        """The logarithm of the loss, and its slopes."""
        del maxima
        problem, found = self.problem, self.variances(bases)
        by_noise = self.noise_weights(found.weights)
        loss = float((by_noise / precision).sum())
        roots = np.sqrt(by_noise)[problem.noise_of_set] * np.sqrt(problem.factor / found.weights)
        by_forms, by_us = found.slopes(roots / (precision[problem.noise_of_set] * loss))
        return math.log(loss), LossSlopes(-by_noise / precision / loss, by_forms, by_us, None)

    def rows(self, bases: Sequence[GroupBasis]) -> Rows:
        """The one row of what multiplies each noise."""
        weights = self.noise_weights(self.variances(bases).weights)
        return lambda precision: (float((weights / precision).sum()), weights[None])

    def precision_of_sets(self, bases: Sequence[GroupBasis], precision: FloatArray) -> FloatArray:
        """The precision of every set, (m,), from that of each noise."""
        problem = self.problem
        roots = np.sqrt(self.variances(bases).weights / problem.factor)
        part = roots / np.bincount(problem.noise_of_set, roots * problem.factor)[problem.noise_of_set]
        of_sets: FloatArray = precision[problem.noise_of_set] * part
        return of_sets

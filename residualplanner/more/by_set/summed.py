"""The sum of average variances in a search for bases by set, and its slopes.

Source: eqs. (39) and (40).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.cost import LossSlopes, Maxima
from residualplanner.more.by_set.group_basis import GroupBasis
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.rest_tables import RestTables, Table, applied
from residualplanner.more.by_set.table_costs import Rows

#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60
#: From the slopes by the weights (m,) of all sets: by the form (r, r) and by u (1+r,) of each group's basis.
_Slopes = Callable[[FloatArray], tuple[list[FloatArray], list[FloatArray]]]


class SummedVariances:
    """The sum of variances; each noise is best divided among its sets for the bases at hand."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem

    def variances(self, bases: Sequence[GroupBasis]) -> tuple[FloatArray, _Slopes]:
        """The weight V_A of each set's noise in the loss, (m,), the sum of ``V_A sigma_A**2``.  Source: eq. (40)."""
        terms, grams = self.problem.terms, {i: axis.grams for i, axis in self.problem.axes.items()}
        rests = RestTables(terms.rests, [basis.offset for basis in bases])
        pairs = [list(zip(terms.rests[number].attributes, kinds, strict=True)) for number, kinds in terms.forms]
        each = zip(pairs, terms.forms, strict=True)
        formed = [applied([grams[i][kind] for i, kind in own], rests[number]) for own, (number, _) in each]
        products = [float(np.vdot(rests[number], f)) for (number, _), f in zip(terms.forms, formed, strict=True)]
        # ||W G||**2 and ||W u||**2 per row, for each group and kind.
        present = [np.tensordot(basis.axis.grams[:, 1:, 1:], basis.form, axes=2) for basis in bases]
        absent = [basis.axis.grams @ basis.u @ basis.u for basis in bases]
        forms, factors = np.concatenate([[1.0], *absent, products]), np.concatenate([*present, [1.0]])
        values = terms.weight * factors[terms.present].prod(axis=1)
        weights = np.bincount(terms.set, values * forms[terms.form], len(self.problem.cost_class)).astype(np.float64)

        def slopes(by_weights: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
            by_set = by_weights[terms.set]
            by_form = np.bincount(terms.form, by_set * values, len(forms)).astype(np.float64)
            by_present, factors_of = np.zeros(len(factors)), factors[terms.present]
            common = by_set * terms.weight * forms[terms.form]
            for column in range(terms.present.shape[1]):
                others = np.delete(factors_of, column, axis=1).prod(axis=1)
                by_present += np.bincount(terms.present[:, column], common * others, len(by_present))
            by_tables = dict[int, Table]()
            for (number, _), table, slope in zip(terms.forms, formed, by_form[len(factors) :].tolist(), strict=True):
                by_tables[number] = by_tables.get(number, 0.0) + 2 * slope * table
            by_forms, by_us, start = list[FloatArray](), list[FloatArray](), 0
            for basis, by_offset in zip(bases, rests.slopes(by_tables), strict=True):
                grams, end = basis.axis.grams, start + len(basis.axis.grams)
                by_forms.append(np.tensordot(by_present[start:end], grams[:, 1:, 1:], axes=1))
                by_us.append(2 * np.tensordot(by_form[1 + start : 1 + end], grams, axes=1) @ basis.u)
                by_us[-1][1:] += by_offset
                start = end
            return by_forms, by_us

        return np.maximum(weights, _LEAST * weights.max()), slopes

    def noise_weights(self, weights: FloatArray) -> FloatArray:
        """The weight of each noise, best divided among its sets: ``(sum sqrt(V_A f_A))**2``."""
        roots = np.sqrt(weights * self.problem.factor)
        summed: FloatArray = np.bincount(self.problem.noise_of_set, roots).astype(np.float64)
        return summed * summed

    def value(self, bases: Sequence[GroupBasis], precision: FloatArray) -> float:
        """The logarithm of the loss."""
        return math.log(float((self.noise_weights(self.variances(bases)[0]) / precision).sum()))

    def value_and_slopes(
        self, bases: Sequence[GroupBasis], precision: FloatArray, maxima: Maxima
    ) -> tuple[float, LossSlopes]:
        """The logarithm of the loss, and its slopes."""
        del maxima
        problem, (weights, slopes) = self.problem, self.variances(bases)
        by_noise = self.noise_weights(weights)
        loss = float((by_noise / precision).sum())
        roots = np.sqrt(by_noise)[problem.noise_of_set] * np.sqrt(problem.factor / weights)
        by_forms, by_us = slopes(roots / (precision[problem.noise_of_set] * loss))
        return math.log(loss), LossSlopes(-by_noise / precision / loss, by_forms, by_us, None)

    def rows(self, bases: Sequence[GroupBasis]) -> Rows:
        """The one row of what multiplies each noise."""
        weights = self.noise_weights(self.variances(bases)[0])
        return lambda precision: (float((weights / precision).sum()), weights[None])

    def precision_of_sets(self, bases: Sequence[GroupBasis], precision: FloatArray) -> FloatArray:
        """The precision of every set, (m,), from that of each noise."""
        problem = self.problem
        roots = np.sqrt(self.variances(bases)[0] / problem.factor)
        part = roots / np.bincount(problem.noise_of_set, roots * problem.factor)[problem.noise_of_set]
        of_sets: FloatArray = precision[problem.noise_of_set] * part
        return of_sets

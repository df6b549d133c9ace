"""The sum of average variances in a search for bases by set, and its slopes.

Source: eqs. (39) and (40).
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.cost import LossSlopes, Maxima
from residualplanner.more.by_set.group_basis import GroupBasis
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.rest_forms import RestForms
from residualplanner.more.by_set.table_costs import Rows

#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60
#: From the slopes by the weights (m,) of all sets: by the form (r, r) and by u (1+r,) of each group's basis.
_Slopes = Callable[[FloatArray], tuple[list[FloatArray], list[FloatArray]]]


class SummedVariances:
    """The sum of variances; each noise is best divided among its sets for the bases at hand."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem
        #: Of each attribute the Gram matrices without the total, (kinds, r r).
        self._present = {i: axis.grams[:, 1:, 1:].reshape(len(axis.grams), -1) for i, axis in problem.axes.items()}

    @cached_property
    def _forms(self) -> RestForms:
        grams = {i: axis.grams for i, axis in self.problem.axes.items()}
        return RestForms(self.problem.terms, self.problem.attribute_of_group.tolist(), grams)

    def variances(self, bases: Sequence[GroupBasis]) -> tuple[FloatArray, _Slopes]:
        """The weight V_A of each set's noise in the loss, (m,), the sum of ``V_A sigma_A**2``.  Source: eq. (40)."""
        terms, us = self.problem.terms, [basis.u for basis in bases]
        forms, products = self._forms.values(us)
        # ||W G||**2 per row, for each group and kind.
        grams = [self._present[i] for i in self.problem.attribute_of_group.tolist()]
        factors = np.concatenate([*(gram @ b.form.ravel() for gram, b in zip(grams, bases, strict=True)), [1.0]])
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
            parts = np.split(by_present[:-1], np.cumsum([len(gram) for gram in grams])[:-1])
            each = zip(parts, grams, bases, strict=True)
            by_forms = [(part @ gram).reshape(basis.form.shape) for part, gram, basis in each]
            return by_forms, self._forms.slopes(us, products, by_form)

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

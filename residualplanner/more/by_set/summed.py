"""The sum of average variances in a search for bases by set, and its slopes.

It takes mean squares of the answers to rest tables h of (39).  A rest table is a sum of products of vectors u with
signs, so that the square length of its answers is a sum over pairs of such products of what each attribute adds,
``u' V v``, with V a Gram matrix.  No table is needed.

Source: eqs. (39) and (40).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.by_set.cost import EvenLoss, GroupBasis, LossSlopes, Maxima
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.table_costs import Rows
from residualplanner.more.by_set.terms import LossTerms, RestTable, parts_of

#: How many pairs of products are taken at a time.
_AT_ONCE = 2**18
#: The least weight of a set, relative to the largest: so the noise of one that no query needs has an optimum.
_LEAST = 2.0**-60
#: What is added to all weights in slopes, relative to the largest: the root of a weight of 0 has none.
_SMOOTH = 1e-10
#: From the slopes by the weights (m,) of all sets: by the form (r, r) and by u (1+r,) of each group's basis.
_Slopes = Callable[[FloatArray], tuple[list[FloatArray], list[FloatArray]]]


class _Stack(NamedTuple):
    """Forms of as many axes, of rest tables of as many products."""

    number: IntArray  # (f,): which forms
    signs: FloatArray  # (f, t): what the products are multiplied by
    #: (k, f, t): for each axis where ``u' V v`` is, u being that of the product, and v the first of its attribute.
    first: IntArray
    rank: IntArray  # (k, f, t): the number of the product's v among those of its attribute

    def parts(self) -> Iterator["_Stack"]:
        """Some forms at a time."""
        step = max(1, _AT_ONCE // self.signs.shape[1] ** 2)
        for start in range(0, len(self.number), step):
            some = slice(start, start + step)
            yield _Stack(self.number[some], self.signs[some], self.first[:, some], self.rank[:, some])

    @property
    def at(self) -> list[IntArray]:
        """Where what each axis adds to each pair of products is, (f, t, t)."""
        return [first[:, :, None] + rank[:, None, :] for first, rank in zip(self.first, self.rank, strict=True)]

    @property
    def weights(self) -> FloatArray:
        """What each pair of products counts, (f, t, t)."""
        return self.signs[:, :, None] * self.signs[:, None, :]


class RestForms:
    """All forms, for any u of each group: of no attribute, which is 1, of one in each group, and of rest tables."""

    def __init__(self, terms: LossTerms, attribute_of_group: Sequence[int], grams: Mapping[int, FloatArray]) -> None:
        """The ``grams`` are the Gram matrices (kinds, 1+r, 1+r) of each attribute."""
        self._grams = grams
        self._groups: dict[int, list[int]] = {i: [] for i in sorted(set(attribute_of_group))}
        rank = []
        for group, i in enumerate(attribute_of_group):
            rank.append(len(self._groups[i]))
            self._groups[i].append(group)
        start, self._starts = 0, dict[int, int]()
        for i, groups in self._groups.items():
            self._starts[i] = start
            start += len(grams[i]) * len(groups) ** 2

        def first(group: int, kind: int) -> int:
            i = attribute_of_group[group]
            count = len(self._groups[i])
            return self._starts[i] + (kind * count + rank[group]) * count

        #: Of each group and kind, where ``u' V u`` is.
        every = [(g, kind) for g, i in enumerate(attribute_of_group) for kind in range(len(grams[i]))]
        self._alone = np.array([first(g, kind) + rank[g] for g, kind in every], dtype=np.int64)
        self._count, self._stacks = len(terms.forms), list[_Stack]()
        products, found = _products(terms.rests), defaultdict[tuple[int, int], list[tuple[Any, ...]]](list)
        for number, (rest, kinds) in enumerate(terms.forms):
            axes = list(zip(*products[rest], strict=True))
            at = [[first(g, kind) for g in groups] for groups, kind in zip(axes, kinds, strict=True)]
            of_axes = [[rank[g] for g in groups] for groups in axes]
            found[len(kinds), len(products[rest])].append((number, list(products[rest].values()), at, of_axes))
        for some in found.values():
            numbers, signs, where, ranks = (np.array(each) for each in zip(*some, strict=True))
            self._stacks.append(_Stack(numbers, signs, where.swapaxes(0, 1), ranks.swapaxes(0, 1)))

    def values(self, us: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """The forms (n,) for the u (1+r,) of each group, and what all pairs of these add."""
        added = [
            U @ gram @ U.T
            for i, groups in self._groups.items()
            for U in [np.array([us[group] for group in groups])]
            for gram in self._grams[i]
        ]
        products, forms = np.concatenate([np.empty(0), *(each.ravel() for each in added)]), np.zeros(self._count)
        for stack in (part for each in self._stacks for part in each.parts()):
            weights = stack.weights
            for at in stack.at:
                weights *= products[at]
            forms[stack.number] = weights.sum(axis=(1, 2))
        return np.concatenate([[1.0], products[self._alone], forms]), products

    def slopes(self, us: Sequence[FloatArray], products: FloatArray, by_form: FloatArray) -> list[FloatArray]:
        """From the slopes by the forms (n,): by u (1+r,) of each group."""
        end = 1 + len(self._alone)
        by_product = np.bincount(self._alone, by_form[1:end], len(products)).astype(np.float64)
        for stack in (part for each in self._stacks for part in each.parts()):
            common, where = stack.weights * by_form[end:][stack.number, None, None], stack.at
            factors = [products[at] for at in where]
            for axis, at in enumerate(where):
                others = math.prod(factors[:axis] + factors[axis + 1 :], start=common)
                by_product += np.bincount(at.ravel(), others.ravel(), len(products))
        found: list[FloatArray] = [np.empty(0)] * len(us)
        for i, groups in self._groups.items():
            start, count, U = self._starts[i], len(groups), np.array([us[group] for group in groups])
            by_u = np.zeros_like(U)
            for gram in self._grams[i]:
                mine = by_product[start : start + count**2].reshape(count, count)
                by_u += (mine + mine.T) @ U @ gram
                start += count**2
            for group, each in zip(groups, by_u, strict=True):
                found[group] = each
        return found


def _products(rests: Sequence[RestTable]) -> list[dict[tuple[int, ...], float]]:
    """The products that each rest table is a sum of: the group of the u of each axis, and the sign."""
    found: list[dict[tuple[int, ...], float]] = []
    for rest in rests:
        order = len(rest.groups)
        every = dict(zip(parts_of(tuple(range(order))), rest.parts, strict=True))
        terms: dict[tuple[int, ...], float] = defaultdict(float)
        for part in [(), *every]:  # which is not spread, but what is known of it
            sign = (-1.0) ** (order - len(part) + 1)
            known = {(): 1.0} if not part else {(every[part],): 1.0} if len(part) == 1 else found[every[part]]
            for own, coefficient in known.items():
                groups = list(rest.groups)
                for axis, group in zip(part, own, strict=True):
                    groups[axis] = group
                terms[tuple(groups)] += sign * coefficient
        found.append({groups: sign for groups, sign in terms.items() if sign})
    return found


class SummedVariances(EvenLoss):
    """The sum of variances; each noise is best divided among its sets for the bases at hand."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem, self.weight = problem, problem.terms.weight
        present = {i: axis.grams[:, 1:, 1:].reshape(len(axis.grams), -1) for i, axis in problem.axes.items()}
        #: Of the attribute of each group the Gram matrices without the total, (kinds, r r).
        self._present = [present[i] for i in problem.attribute_of_group.tolist()]

    @cached_property
    def _forms(self) -> RestForms:
        grams = {i: axis.grams for i, axis in self.problem.axes.items()}
        return RestForms(self.problem.terms, self.problem.attribute_of_group.tolist(), grams)

    def weighted(self, weights: FloatArray) -> "SummedVariances":
        """The same with its terms multiplied by weights (n,)."""
        found = copy(self)
        found.weight = self.problem.terms.weight * weights
        return found

    def of_terms(self, bases: Sequence[GroupBasis]) -> FloatArray:
        """What the noise of its set is multiplied by in each term of the loss, (n,).  Source: eq. (40)."""
        terms, (forms, _) = self.problem.terms, self._forms.values([basis.u for basis in bases])
        return np.asarray(self.weight * self._factors(bases)[terms.present].prod(axis=1) * forms[terms.form])

    def _factors(self, bases: Sequence[GroupBasis]) -> FloatArray:
        """``||W G||**2`` per row, for each group and kind, and a 1."""
        return np.concatenate([*(gram @ b.form.ravel() for gram, b in zip(self._present, bases, strict=True)), [1.0]])

    def variances(self, bases: Sequence[GroupBasis]) -> tuple[FloatArray, _Slopes]:
        """The weight V_A of each set's noise in the loss, (m,), the sum of ``V_A sigma_A**2``.  Source: eq. (40)."""
        terms, us = self.problem.terms, [basis.u for basis in bases]
        forms, products = self._forms.values(us)
        grams, factors, weight = self._present, self._factors(bases), self.weight
        values = weight * factors[terms.present].prod(axis=1)
        weights = np.bincount(terms.set, values * forms[terms.form], len(self.problem.cost_class)).astype(np.float64)

        def slopes(by_weights: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
            by_set = by_weights[terms.set]
            by_form = np.bincount(terms.form, by_set * values, len(forms)).astype(np.float64)
            by_present, factors_of = np.zeros(len(factors)), factors[terms.present]
            common = by_set * weight * forms[terms.form]
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
        weights += _SMOOTH * weights.max()
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
        return precision[problem.noise_of_set] * part

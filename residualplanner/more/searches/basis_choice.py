"""Which residual basis each attribute gets: the best for its kinds of query, given those of the others.

Source: eqs. (29) to (31) and (36); docs/bases.md.

The optimal loss is the square of ``F = sum_A sqrt(p_A v_A)``.  With p = 1 for every attribute it is concave in the
variance factors of each attribute, so its tangent lies above it: minimizing the tangent, which is a convex problem of
one attribute, never raises the loss.  Attributes with the same kinds, beside the same others, are one problem.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from residualplanner.ground.checks import FloatArray, Steps, untold
from residualplanner.ground.errors import SolverError, WorkloadError
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import CERTIFIED, Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.strategy import variances
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches.attribute_grams import (
    COARSE_VALUES,
    MERGED,
    AttributeGrams,
    GramsOf,
    attribute_grams,
)
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.extrapolation import extrapolated
from residualplanner.more.searches.optimal import Tangent, inverse_forms
from residualplanner.more.searches.tree_grams import grams_for_sum

#: The search ends when a round lowers the root of the loss by less than this fraction.
_PROGRESS = 1e-6
#: How close to the best the basis of one attribute is brought in each round: with few values, and with many.
_TIGHT, _CLOSE = 1e-7, 0.4 * CERTIFIED
#: Bases that are found for weights which differ from the present ones by so much are not improved.
_STEADY = 1e-2
#: Steps for the convex problem of one attribute, up to a number of values: each solves an eigenvalue problem.
_STEPS = ((COARSE_VALUES, 60), (2048, 30), (math.inf, 10))
#: The least number of steps of the proof, for attributes that are not merged.
_LAST_STEPS = 200
_ROUNDS = 60
#: The same where more values are merged no longer, but not all.
_FINER_ROUNDS = 4
#: How far the logarithms of weights move in a round.
_FARTHEST = 2.0
#: Above this many values a basis is not improved in full, but called near_optimal, and several threads are worth it.
_FULL_VALUES = 2048
#: How much larger, relative, an attribute's part of the loss may get because its basis is rounded to integers.
ROUNDING_LOSS = 3e-6
#: How much more noise any one row may get for that; rows that have next to none count for nothing.
_ROW_LOSS, _NOTHING = 1e-2, 1e-9
#: Binary digits: the fewest, by the number of values, to which comes one for each doubling of that number; the most, as
#: rows that differ a billion-fold in size need some 35; and how many are added at once.
_FEWEST_DIGITS, _MOST_DIGITS, _DIGITS_AT_ONCE = ((64, 1), (math.inf, 4)), 45, 3

BasisOption = Literal["optimal", "orthogonal"]


def choose_bases(
    workload: Workload,
    importance: FloatArray,
    option: BasisOption = "optimal",
    *,
    grams_of: GramsOf = grams_for_sum,
    progress: Steps = untold,
) -> tuple[Basis, ...]:
    """The residual basis of every attribute, (d,), for a sum of average variances weighted by ``importance`` (q,).

    Attributes that are only counted by single values keep the subtraction basis, which is the best for them.  The
    option "orthogonal" is for the best among the bases orthogonal to the total.  By default attributes of many values,
    some of which can be exchanged, may have nested bases.

    Source: eqs. (31) and (109); with "orthogonal" docs/mathematics.md section 4, paper section 7.
    """
    grams = attribute_grams(workload, grams_of)
    # One thread, unless matrices are so large that several are quicker.
    with nullcontext() if any(len(forms.width) > _FULL_VALUES for forms in grams.values()) else one_thread():
        rounds = _ROUNDS if option == "optimal" else 0
        search = before = _searched(workload, importance, _merged(grams, MERGED[0]), rounds)
        for done, finer in enumerate((_merged(grams, MERGED[1]), grams), 1):
            progress(done, 3)
            before, search = search, search.refined(finer, before, option)
        progress(3, 3)
        bases = search.bases(option)
    inverse_forms.cache_clear()  # of matrices that may be large
    return bases


def _merged(grams: Mapping[int, AttributeGrams], groups: int) -> dict[int, AttributeGrams]:
    """The same with the values of each attribute merged to so many groups, where it has many."""
    once = {id(forms): forms.coarse(groups) for forms in grams.values()}
    return {attribute: once[id(forms)] for attribute, forms in grams.items()}


def _searched(
    workload: Workload, importance: FloatArray, grams: dict[int, AttributeGrams], rounds: int
) -> "_TangentSearch":
    """The best bases for these matrices, in as many rounds at most."""
    classes = _classes({attribute: (id(forms), b"") for attribute, forms in grams.items()})
    found = [orthogonal_start(grams[members[0]]) for members in classes]
    nowhere = [np.full(2 * len(grams[members[0]].kinds), np.inf) for members in classes]
    past = [np.empty((0, 2, len(weights))) for weights in nowhere]
    search = _TangentSearch(workload, importance, grams, classes, found, nowhere, past)
    for _ in range(rounds if grams else 0):
        moved = search.round()
        if not moved.value < search.value * (1 - _PROGRESS):
            return min(search, moved, key=lambda found: found.value)
        search = moved
    return search


@dataclass(frozen=True, eq=False)
class _TangentSearch:
    """Where the search stands."""

    workload: Workload
    importance: FloatArray
    grams: dict[int, AttributeGrams]  # of each attribute that does not have the subtraction basis
    classes: list[list[int]]  # the attributes that have one basis in common
    found: list[ResidualBasis]  # the basis of each class
    solved: list[FloatArray]  # the weights for which it was found, `_weights`
    past: list[FloatArray]  # (k, 2, 2 kinds): logarithms of weights it was found for, and the changes that came of it
    in_full: bool = False  # whether all values have bases, after a search for merged ones

    @cached_property
    def evaluated(self) -> tuple[float, FloatArray, FloatArray]:
        """F and its slopes, as `_slopes`."""
        numbers = _numbers(self.workload, self.grams, self.classes, self.found)
        return _slopes(self.workload, numbers, self.importance)

    @property
    def value(self) -> float:
        """F, the root of the optimal loss at privacy cost 1."""
        return self.evaluated[0]

    def round(self) -> "_TangentSearch":
        """Minimize the tangent for every class; for one class after another where that raises the loss.

        Weights follow bases slowly where a basis may trade one variance factor for another at nearly no loss: so first
        for the weights at which, by the rounds so far, they would stay.
        """
        for ahead in (True, False):
            together = self._moved(None, ahead=ahead)
            if together.value <= self.value or (len(together.classes) < 2 and not ahead):
                return together
        here = self
        for number in range(len(together.classes)):
            moved = here._moved(number, ahead=False)
            here = moved if moved.value <= here.value else here
        return here

    def _moved(self, only: int | None, *, ahead: bool) -> "_TangentSearch":
        """The same with the bases of all classes, or of one, replaced by minimizers of the tangent, or ahead of it."""
        start = {attribute: number for number, members in enumerate(self.classes) for attribute in members}
        classes = _classes({i: (start[i], self._scaled(i, self._weights(i)).round(7).tobytes()) for i in self.grams})
        before = [start[members[0]] for members in classes]
        found, solved = [self.found[number] for number in before], [self.solved[number] for number in before]
        past = [self.past[number] for number in before]
        for number, members in enumerate(classes):
            if only in (None, number):
                forms, weights = self.grams[members[0]], self._weights(members[0])
                if np.isfinite(solved[number]).all():
                    past[number] = np.concatenate([past[number], _change(solved[number], weights)])
                    if ahead:
                        # Old changes, far from the end, have other slopes: no more count than can be independent.
                        recent = past[number] if self.in_full else past[number][-len(weights) :]
                        step = extrapolated(recent, np.ones(len(weights)))
                        weights = solved[number] * np.exp(np.clip(step, -_FARTHEST, _FARTHEST))
                solved[number] = weights / float(weights.sum())
                how = {"start": found[number], **_effort(forms)}
                found[number] = forms.tangent(solved[number]).best(forms.directions, **how)
        return replace(self, classes=classes, found=found, solved=solved, past=past)

    def _weights(self, attribute: int) -> FloatArray:
        """The slopes in the attribute's t, then s, of each of its kinds, scaled to sum 1, (2 kinds,)."""
        kinds, (_, present, absent) = list(self.grams[attribute].kinds), self.evaluated
        slopes = np.concatenate([present[attribute, kinds], absent[attribute, kinds]])
        return slopes / float(slopes.sum())

    def _scaled(self, attribute: int, weights: FloatArray) -> FloatArray:
        """Weights times the sizes of the Gram matrices, scaled to sum 1: how much each kind counts."""
        scaled = weights * np.tile(self.grams[attribute].scales, 2)
        return scaled / float(scaled.sum())

    def _bound(self, attribute: int, found: ResidualBasis, solved: FloatArray, loss: float, option: str) -> float:
        """What no basis lowers the attribute's part of the loss below, for the present noise; at ``found`` it is loss.

        Every variance factor is at least 0.  So the bound for the weights that the basis was found for holds for the
        present ones, times the least that any of them has changed by; where that is too low, one is found for these.
        """
        forms, weights = self.grams[attribute], self._weights(attribute)
        tangent = forms.tangent(weights)  # of F as a function of the attribute's basis
        changes = np.divide(weights, solved, where=solved > 0, out=np.full(len(solved), np.inf))
        known = found.bound * float(changes.min())
        steps = max(_effort(forms)["steps"], _LAST_STEPS if len(forms.width) <= COARSE_VALUES else 0)
        how: dict[str, Any] = {"start": found, "gap": _CLOSE, "steps": steps}
        if option == "orthogonal":
            of_total = tangent.at(forms.width / forms.size)
            return _best_orthogonal(forms, tangent, reached=loss - of_total, **how).bound + of_total
        if known >= loss * (1 - _CLOSE):
            return known
        return max(known, tangent.best(forms.directions, reached=loss, **how).bound)

    def refined(self, grams: dict[int, AttributeGrams], before: "_TangentSearch", option: str) -> "_TangentSearch":
        """The same for more values, where values were merged: for expected weights, then for the right ones.

        From the search ``before``, for fewer values, to this one the logarithms of weights changed by as much for each
        doubling of the values as they are expected to change again.  "orthogonal" keeps u at ``1/n`` for every value.
        """
        if all(len(self.grams[attribute].width) == len(forms.width) for attribute, forms in grams.items()):
            return replace(self, grams=grams)
        found, solved = list(self.found), [self._expected(members[0], grams, before) for members in self.classes]
        for number, (attribute, *_) in enumerate(self.classes):
            coarse, forms = self.grams[attribute], grams[attribute]
            if coarse is not forms:
                tangent = forms.tangent(solved[number])
                how = {**_effort(forms), "start": coarse.refined(found[number], forms)}
                optimal = option == "optimal"
                found[number] = (
                    tangent.best(forms.directions, **how) if optimal else _best_orthogonal(forms, tangent, **how)
                )
        here = replace(self, grams=grams, found=found, solved=solved, in_full=True)
        # The weights change with those a basis is found for as they do where values are merged, but for constants.
        past = [
            changes + np.concatenate([_change(old, new)[:, 1:], _change(new, here._weights(members[0]))[:, 1:]], axis=1)
            for members, old, new, changes in zip(self.classes, self.solved, solved, self.past, strict=True)
        ]
        here = replace(here, past=past)
        most = max(len(forms.width) for forms in grams.values())
        if option != "optimal" or most > _FULL_VALUES:
            return here
        for _ in range(_FINER_ROUNDS if most <= COARSE_VALUES else 1):
            if here._is_steady:
                break
            here = min(here, here.round(), key=lambda search: search.value)
        return here

    def _expected(self, attribute: int, grams: dict[int, AttributeGrams], before: "_TangentSearch") -> FloatArray:
        """The weights of an attribute that are expected with the values of ``grams``, by those of two searches."""
        first, second, third = (math.log(len(each[attribute].width)) for each in (before.grams, self.grams, grams))
        weights = self._weights(attribute)
        if first < second:
            changes = _change(before._weights(attribute), weights)[0, 1]
            weights = weights * np.exp(np.clip(changes * (third - second) / (second - first), -_FARTHEST, _FARTHEST))
        return weights / float(weights.sum())

    @property
    def _is_steady(self) -> bool:
        """Whether all bases are those for nearly the present weights."""
        for members, found, solved in zip(self.classes, self.found, self.solved, strict=True):
            weights = self._weights(members[0])
            parts = weights * np.concatenate(self.grams[members[0]].factors(found))
            if parts @ np.abs(_change(solved, weights)[0, 1]) > _STEADY * parts.sum():
                return False
        return True

    def bases(self, option: str) -> tuple[Basis, ...]:
        bases = [subtraction_basis(size) for size in self.workload.domain.sizes]
        for members, found, solved in zip(self.classes, self.found, self.solved, strict=True):
            basis = self._basis(members[0], found, solved, option)
            for attribute in members:
                bases[attribute] = basis
        return tuple(bases)

    def _basis(self, attribute: int, found: ResidualBasis, solved: FloatArray, option: str) -> Basis:
        """One basis in integers, which raises the attribute's part of the loss and every row's noise by little."""
        forms, weights = self.grams[attribute], self._weights(attribute)
        exact = forms.exact(found)
        loss, rows = forms.loss(weights, exact), forms.rows_present(exact)
        allowed = _ROW_LOSS * rows + _NOTHING * rows.max()
        bound = self._bound(attribute, found, solved, loss, option)

        def excess(near: Any) -> float:
            # A loss that falls is that of a basis no longer orthogonal to the total.
            whole = abs(forms.loss(weights, near) / loss - 1) / ROUNDING_LOSS
            return max(whole, float(((forms.rows_present(near) - rows) / allowed).max()))

        def gap_of(near: Any) -> float:
            return max(0.0, 1 - bound / forms.loss(weights, near))

        family = "near_optimal" if option == "optimal" and len(forms.width) > _FULL_VALUES else option
        return basis_in_integers(forms, found, excess, family, gap_of=gap_of)


def orthogonal_start(grams: AttributeGrams) -> ResidualBasis:
    """The best basis orthogonal to the total, where every kind counts as if it were alone."""
    tangent = grams.tangent(np.tile(1 / grams.scales, 2))
    return _best_orthogonal(grams, tangent, **_effort(grams))


def basis_in_integers(
    grams: AttributeGrams,
    found: ResidualBasis,
    excess: Callable[[Any], float],
    family: str,
    slack: float = 0.0,
    gap_of: Callable[[Any], float] = lambda _: math.inf,
) -> Basis:
    """The basis in integers, with about as few digits as make ``excess`` 1 or less.  Source: eq. (36).

    What is lost by rounding, in multiples of what may be lost, is of second order: four times less for each digit.  It
    and the gap are of what `AttributeGrams.rounded` gives; LinAlgError says that this is no basis.  The slack is that
    of `rounded_matrix`, the family the word for the basis in plans.

    Raises SolverError: no such matrix was found.
    """
    values = len(grams.width)
    exponent = values.bit_length() + next(fewest for limit, fewest in _FEWEST_DIGITS if values <= limit)
    while exponent <= _MOST_DIGITS:
        lost = math.inf
        with suppress(np.linalg.LinAlgError, WorkloadError):
            near = grams.rounded(found, exponent, slack)
            lost = excess(near)
            if lost <= 1:
                weights = (found.multipliers / grams.width)[grams.group]
                basis = grams.in_integers(near, exponent, family, gap_of(near))
                return replace(basis, value_weights=weights / weights.sum())
        exponent += min(max(1, int(math.log(lost, 4))), _DIGITS_AT_ONCE) if math.isfinite(lost) else 1
    raise SolverError("no integer matrix comes close to the best residual basis; ask for bases='orthogonal'")


def _best_orthogonal(grams: AttributeGrams, tangent: Tangent, **how: Any) -> ResidualBasis:
    return tangent.best_orthogonal(grams.width / grams.size, grams.directions, **how)


def _effort(grams: AttributeGrams) -> dict[str, Any]:
    """How close to the best a basis is brought in a round, and in how many steps at most."""
    values = len(grams.width)
    steps = next(steps for limit, steps in _STEPS if values <= limit)
    return {"gap": _TIGHT if values <= COARSE_VALUES else _CLOSE, "steps": steps}


def _change(before: FloatArray, after: FloatArray) -> FloatArray:
    """The logarithms of weights, and what is added to them, (1, 2, weights)."""
    logs = np.log(np.maximum([before, after], 1e-300))
    return np.asarray([[logs[0], logs[1] - logs[0]]])


def _classes(keys: dict[int, tuple[object, ...]]) -> list[list[int]]:
    """The attributes of each distinct key."""
    classes: dict[tuple[object, ...], list[int]] = {}
    for attribute, key in keys.items():
        classes.setdefault(key, []).append(attribute)
    return list(classes.values())


def _numbers(
    workload: Workload, grams: dict[int, AttributeGrams], classes: list[list[int]], found: list[ResidualBasis]
) -> variances.ResidualNumbers:
    """The numbers of all attributes, with p = 1 for those that have a basis of their own."""
    plain = variances.subtraction_numbers(workload.domain.sizes)
    pcost = plain.pcost.copy()
    present, absent = (np.repeat(x, len(workload.kinds), axis=1) for x in (plain.present, plain.absent))
    for members, basis in zip(classes, found, strict=True):
        forms = grams[members[0]]
        t, s = forms.factors(basis)
        for column, code in enumerate(forms.kinds):
            present[members, code], absent[members, code] = t[column], s[column]
        pcost[members] = 1.0
    return replace(plain, pcost=pcost, present=present, absent=absent)


def _slopes(
    workload: Workload, numbers: variances.ResidualNumbers, importance: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """F, and its derivatives in the factors of each attribute and kind, (d, kinds).  Source: eqs. (30) and (31)."""
    closure = workload.closure
    pieces = list(variances.variance_pieces(workload, closure, numbers))
    weights = variances.noise_weights(pieces, importance, len(closure))
    pcost = closure.products(numbers.pcost)
    slope = np.sqrt(pcost / np.maximum(weights, 1e-300)) / 2
    present, absent = np.zeros_like(numbers.present), np.zeros_like(numbers.absent)
    for (_, run), (queries, positions, coefficients) in zip(workload.runs(variances.CHUNK), pieces, strict=True):
        # A term is linear in each factor: its slope in one is the term over the factor, which is divided by in the end.
        parts = coefficients * slope[positions] * importance[queries, None]
        total = parts.sum(axis=1)
        for column, where in enumerate(zip(run.attributes.T, run.kinds.T, strict=True)):
            inside = parts[:, np.arange(parts.shape[1]) >> column & 1 == 1].sum(axis=1)
            np.add.at(present, where, inside)
            np.add.at(absent, where, total - inside)
    value = float(np.sqrt(pcost * weights).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return value, np.nan_to_num(present / numbers.present), np.nan_to_num(absent / numbers.absent)

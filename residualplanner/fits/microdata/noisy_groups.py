"""The noisy answers of all groups of queries on one data set, in one draw of the noise or in many.

Reads: groups of queries, answers, laws of noise.  Gives: NoisyGroups, from which microdata are fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.fits.microdata.groups import QueryGroup
from residualplanner.fits.microdata.laws import NoiseLaw
from residualplanner.fits.microdata.solvers.dual import CellProblem, Term
from residualplanner.fits.microdata.solvers.sums import Sums
from residualplanner.ground.checks import require_numbers, require_type
from residualplanner.ground.errors import DataError, WorkloadError
from residualplanner.method.domain.domain import Domain

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class GroupAnswers:
    """The noisy answers of one group.

    Attributes:
        group: the queries.
        values (..., q_1, .., q_k): the answers, in counts; axes before those of the group are draws of the noise.
        law: of the noise of each answer; noise is independent.
    """

    group: QueryGroup
    values: ArrayLike
    law: NoiseLaw

    def __post_init__(self) -> None:
        call = "GroupAnswers"
        require_type(call, "group", self.group, QueryGroup, 'write GroupAnswers(Marginal(["age"]), values, Laplace(2))')
        require_type(call, "law", self.law, NoiseLaw, "write GroupAnswers(group, values, Laplace(2)), or Gaussian(2)")


@dataclass(frozen=True, eq=False, slots=True)
class NoisyGroups:
    """Noisy answers about one data set; groups in the order of their priority, which `sequential_fit` keeps to.

    Attributes:
        domain: of the data set.
        answers: of each group.
        draws: the shape of the draws of the noise, () for a single one.

    Raises:
        DomainError: an attribute of a group is not in the domain, or the values of one are amounts.
        ArgumentError: the domain, or answers, are of another type.
        DataError: answers are not finite, or not in the shape of their group; there are no draws.
        WorkloadError: there is no group in which every cell occurs, such as the total.

    Example:
        >>> from residualplanner.fits.microdata.noisy_groups import GroupAnswers
        >>> from residualplanner.fits.microdata.laws import Laplace
        >>> from residualplanner.fits.microdata.groups import Marginal
        >>> domain = Domain({"sex": 2, "age": 3})
        >>> total = GroupAnswers(Marginal(), 9.0, Laplace(4.0))
        >>> cells = GroupAnswers(Marginal(["sex", "age"]), [[3, 2, 1], [-1, -2, -1]], Laplace(4.0))
        >>> NoisyGroups(domain, [total, cells]).draws
        ()
    """

    domain: Domain
    answers: tuple[GroupAnswers, ...]
    draws: tuple[int, ...]
    groups: tuple[Sums, ...] = field(repr=False)
    values: tuple[Array, ...] = field(repr=False)

    def __init__(self, domain: Domain, answers: Sequence[GroupAnswers]) -> None:
        require_type("NoisyGroups", "domain", domain, Domain, "write NoisyGroups(domain, [GroupAnswers(...), ...])")
        for each in answers:
            require_type("NoisyGroups", "answers", each, GroupAnswers, "write [GroupAnswers(group, values, law), ...]")
        domain.require_no_amounts("microdata hold records by value")
        sums = tuple(each.group.sums(domain) for each in answers)
        if not any(each.covers for each in sums):
            raise WorkloadError("no group has every cell in one of its sums; add one that has, such as Marginal(())")
        read = [_read(domain, each) for each in answers]
        draws = {values.shape[:-1] for values in read}
        if len(draws) > 1:
            raise DataError(f"all groups need answers of the same draws of the noise, got shapes {sorted(draws)}")
        if 0 in next(iter(draws)):
            raise DataError(
                "there are no draws of the noise; leave out the axes before those of the groups, or give one"
            )
        names = ("domain", "answers", "draws", "groups", "values")
        flat = tuple(values.reshape(-1, values.shape[-1]) for values in read)
        for name, value in zip(names, (domain, tuple(answers), *draws, sums, flat), strict=True):
            object.__setattr__(self, name, value)

    @property
    def variances(self) -> tuple[float, ...]:
        """The noise variance of an answer of each group, in counts squared."""
        return tuple(each.law.variance for each in self.answers)

    @property
    def cell_group(self) -> int | None:
        """The number of the last group of all single cells; None if these were not measured."""
        numbers = [number for number, sums in enumerate(self.groups) if sums.is_all_cells]
        return numbers[-1] if numbers else None

    def terms(self) -> list[Term]:
        """The answers of each group, which sums of cells should be near to."""
        parts = zip(self.groups, self.values, self.variances, strict=True)
        return [Term(sums, values, np.full((1, sums.count), variance)) for sums, values, variance in parts]


def problem_of(shape: tuple[int, ...], terms: Sequence[Term], cell_group: int | None) -> CellProblem | None:
    """The problem of terms of which one is about single cells; None if none is.

    Args:
        shape (d,): of the cells.
        terms: of all groups; those that are not the same in all draws come last.
        cell_group: the number of the one about single cells.
    """
    if cell_group is None:
        return None
    own = terms[cell_group]
    others = tuple(term for number, term in enumerate(terms) if number != cell_group)
    return CellProblem(shape, own.target, 1 / own.spread, others)


def _read(domain: Domain, answers: GroupAnswers) -> Array:
    """The answers of a group, (..., k)."""
    shape = answers.group.shape(domain)
    values = require_numbers("answers must be numbers", answers.values)
    if values.shape[max(values.ndim - len(shape), 0) :] != shape:
        raise DataError(f"answers of {answers.group!r} need the shape {shape}, got {values.shape}")
    if not values.size:
        raise DataError(f"answers of {answers.group!r}: there are no draws of the noise; give at least one")
    if not np.isfinite(values).all():
        raise DataError(f"answers of {answers.group!r} must be finite")
    return answers.group.arranged(domain, values)

"""Groups of queries on one table of all attributes, which sums of cells they are, and their noisy answers.

From these microdata are fitted.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.microdata.bounds import Gaussian, NoiseLaw
from residualplanner.fits.nonnegative.components import centered
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import IntArray, require_numbers, require_type, value_text
from residualplanner.ground.errors import DataError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

#: The most cells of a domain that are held in memory.
_CELLS = 50_000_000
#: The precision, relative to the largest, below which a set was measured only so that there is an answer.
_NEXT_TO_NOTHING = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """Sums (b, k) of cells (b, n_1, .., n_d) in b draws of the noise: the cells of the marginal of some axes.

    Centered, less its means along each axis, it is their component, of which only the total is a sum of whole cells.
    With a mask there is one sum, of different cells in each draw: of those of the marginal where it is 1.
    """

    shape: tuple[int, ...]  # (d,): of the cells
    axes: tuple[int, ...]  # of the marginal, ascending
    is_centered: bool = False
    mask: Array | None = None  # (b, k)

    @property
    def is_disjoint(self) -> bool:
        """Whether no cell is in two of the sums."""
        return not (self.is_centered and self.axes)

    @property
    def covers(self) -> bool:
        """Whether every cell is in exactly one of the sums, with weight 1."""
        return self.is_disjoint and self.mask is None

    @property
    def is_all_cells(self) -> bool:
        """Whether the sums are all single cells, in their order."""
        return self.covers and not self.is_centered and len(self.axes) == len(self.shape)

    @property
    def count(self) -> int:
        """How many sums there are."""
        return 1 if self.mask is not None else math.prod(self.shape[axis] for axis in self.axes)

    def answer(self, cells: Array) -> Array:
        """The sums (b, k) of cells (b, n_1, .., n_d), in C order."""
        return self._centered(self.squares(cells))

    def squares(self, part: Array) -> Array:
        """About the sums of cells with squared coefficients: marginals, which are larger than components."""
        others = tuple(1 + axis for axis in range(len(self.shape)) if axis not in self.axes)
        summed = (part.sum(axis=others) if others else part).reshape(len(part), -1)
        return summed if self.mask is None else (self.mask * summed).sum(axis=1, keepdims=True)

    def spread(self, values: Array) -> Array:
        """The transposed map of values (b, k): an array that broadcasts to the shape of cells."""
        shape = (n if axis in self.axes else 1 for axis, n in enumerate(self.shape))
        return self._centered(values if self.mask is None else self.mask * values).reshape(-1, *shape)

    def precision(self, subset: Sequence[int]) -> float:
        """How many cells a sum has, for components of axes that the sums have; else 0.  Source: eq. (80)."""
        others = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        has = set(subset) == set(self.axes) if self.is_centered else set(subset) <= set(self.axes)
        return float(math.prod(others)) if has else 0.0

    def take(self, rows: IntArray) -> "Sums":
        """The same for some draws of the noise."""
        return self if self.mask is None else replace(self, mask=self.mask[rows])

    def matrix(self) -> Array:
        """A row (k, n_1 ... n_d) for each sum."""
        rows = np.broadcast_to(self.spread(np.eye(self.count)), (self.count, *self.shape))
        return np.ascontiguousarray(rows).reshape(self.count, -1)

    def _centered(self, values: Array) -> Array:
        if not self.is_centered:
            return values
        tables = values.reshape(-1, *(self.shape[axis] for axis in self.axes))
        return centered(tables, range(1, tables.ndim)).reshape(len(values), -1)


class Term(NamedTuple):
    """Sums that are near, or equal to, targets."""

    sums: Sums  # of which cells
    target: Array  # (b, k): a, in counts
    spread: Array  # (b or 1, k): 1 / w, in counts squared; 0 where the sum is equal to its target

    def take(self, rows: IntArray) -> "Term":
        """That of some draws."""
        spread = self.spread if len(self.spread) == 1 else self.spread[rows]
        return Term(self.sums.take(rows), self.target[rows], spread)


@dataclass(frozen=True, slots=True, init=False)
class Marginal:
    """A group of queries that are measured together: all cells of the marginal of some attributes.

    It is the total if there are none, and single cells if all are named.

    Args:
        names: of the attributes, in the order of the axes of the answers.
    """

    names: tuple[str, ...]

    def __init__(self, names: Iterable[str] = ()) -> None:
        if isinstance(names, Mapping):
            raise WorkloadError(f"a group of a marginal or residual is written by names alone, got {value_text(names)}")
        object.__setattr__(self, "names", (names,) if isinstance(names, str) else tuple(names))

    def sums(self, domain: Domain) -> Sums:
        """Which sums of cells the queries are, in the order of the domain."""
        return Sums(domain.sizes, domain.positions(self.names), is_centered=isinstance(self, Residual))


class Residual(Marginal):
    """The component of some attributes: their marginal less its means along each axis, as releases measure it.

    Args:
        names: of the attributes, in the order of the axes of the answers.
    """

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class GroupAnswers:
    """The noisy answers of one group.

    Attributes:
        group: the queries.
        values (..., q_1, .., q_k): the answers, in counts; axes before those of the group are draws of the noise.
        law: of the noise of each answer; noise is independent.
    """

    group: Marginal
    values: ArrayLike
    law: NoiseLaw

    def __post_init__(self) -> None:
        call = "GroupAnswers"
        require_type(call, "group", self.group, Marginal, 'write GroupAnswers(Marginal(["age"]), values, Laplace(2))')
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
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
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


def _read(domain: Domain, answers: GroupAnswers) -> Array:
    """The answers of a group (..., k), their axes in the order of the domain."""
    written = domain.positions_as_written(answers.group.names)
    shape = tuple(domain.sizes[position] for position in written)
    values = require_numbers("answers must be numbers", answers.values)
    draws = max(values.ndim - len(shape), 0)
    if values.shape[draws:] != shape:
        raise DataError(f"answers of {answers.group!r} need the shape {shape}, got {values.shape}")
    if not values.size:
        raise DataError(f"answers of {answers.group!r}: there are no draws of the noise; give at least one")
    if not np.isfinite(values).all():
        raise DataError(f"answers of {answers.group!r} must be finite")
    order = [*range(draws), *(draws + written.index(position) for position in sorted(written))]
    return values.transpose(order).reshape(*values.shape[:draws], -1)


def groups_of_release(release: Release) -> NoisyGroups:
    """The component of every set that was measured, with its noise variance: all that a release says, without overlap.

    Sets that no query needs are left out: next to nothing was spent on them, and their answers are noise alone.

    Fits of it are fits of all tables of the release together: `least_squares` has the release's own estimates as its
    marginals, `nonnegative_least_squares` cells of which none is negative.  Sets of fewer attributes come first.

    Args:
        release: of marginals, with subtraction bases.

    Raises:
        ArgumentError: ``release`` is something else.
        WorkloadError: an attribute has another basis, or the whole domain has more than 50 million cells;
            `nonnegative` works on tables of any size.

    Guarantees: post-processing of what is released; it costs no budget.
    Source: eq. (48).

    Example:
        >>> from residualplanner import Domain, Workload, measure, reconstruct, select, zcdp
        >>> from residualplanner.fits.microdata import least_squares
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a",), ("b",)]), budget=zcdp(1))
        >>> release = reconstruct(measure(plan, np.zeros((20, 2), dtype=int)))
        >>> fit = least_squares(groups_of_release(release))
        >>> bool(np.allclose(fit.table(["b"]), release["b"].estimate))
        True
    """
    release = release_of(release, "groups_of_release", "write groups_of_release(reconstruct(measurement))")
    plan = release.plan
    if plan.strategy.varying.any() or not all(basis.is_symmetric for basis in plan.strategy.of_attributes):
        raise WorkloadError("microdata are fitted to releases with subtraction bases only; nonnegative takes any bases")
    if plan.domain.cells(plan.domain.names) > _CELLS:
        raise WorkloadError(f"the domain has more than {_CELLS:,} cells; make tables non-negative by nonnegative")
    answers, most = [], float(plan.noise_variances.min()) / _NEXT_TO_NOTHING
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        if variance > most:
            continue
        names = [plan.domain.names[position] for position in members]
        table = release[names].estimate
        component = centered(np.asarray(table), range(table.ndim))
        answers.append(GroupAnswers(Residual(names), component, Gaussian(math.sqrt(variance))))
    return NoisyGroups(plan.domain, answers)

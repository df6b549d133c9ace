"""Groups of queries on one table of all attributes, and their noisy answers, from which microdata are fitted."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.microdata.dual import Term
from residualplanner.fits.microdata.laws import Gaussian, NoiseLaw
from residualplanner.fits.microdata.sums import MarginalSums, MatrixSums, Sums, centered
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import FloatArray, frozen, require_numbers, require_type, value_text
from residualplanner.ground.errors import DataError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

#: The most cells of a domain that are held in memory.
_CELLS = 50_000_000
#: The precision, relative to the largest, below which a set was measured only so that there is an answer.
_NEXT_TO_NOTHING = 1e-12


class QueryGroup(ABC):
    """Queries on one data set that are measured together."""

    @abstractmethod
    def sums(self, domain: Domain) -> Sums:
        """Which sums of cells the queries are.

        Raises:
            DomainError: an attribute is not in the domain.
            WorkloadError: the group is not about cells of this domain.
        """

    @abstractmethod
    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The shape in which answers are written."""

    def arranged(self, domain: Domain, values: Array) -> Array:
        """Answers (..., shape) in the order of `sums`, (..., k)."""
        return values.reshape(*values.shape[: values.ndim - len(self.shape(domain))], -1)


@dataclass(frozen=True, slots=True, init=False)
class Marginal(QueryGroup):
    """All cells of the marginal of some attributes: the total if there are none, single cells if all are named.

    Args:
        names: of the attributes, in the order of the axes of the answers.

    Example:
        >>> Marginal(["age", "sex"]).shape(Domain({"sex": 2, "race": 5, "age": 9}))
        (9, 2)
    """

    names: tuple[str, ...]

    def __init__(self, names: Iterable[str] = ()) -> None:
        if isinstance(names, Mapping):
            raise WorkloadError(
                f"a group of a marginal or residual is written by names alone, got {value_text(names)}; write "
                "CellSums(rows) for sums of other cells, and a group for each"
            )
        object.__setattr__(self, "names", (names,) if isinstance(names, str) else tuple(names))

    def sums(self, domain: Domain) -> Sums:
        """The cells of the marginal, in the order of the domain."""
        return MarginalSums(domain.sizes, domain.positions(self.names))

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The sizes of the attributes, in the order of the names."""
        return tuple(domain.sizes[position] for position in domain.positions_as_written(self.names))

    def arranged(self, domain: Domain, values: Array) -> Array:
        """Answers with their axes in the order of the domain, flat."""
        written = domain.positions_as_written(self.names)
        draws = values.ndim - len(written)
        order = [*range(draws), *(draws + written.index(position) for position in sorted(written))]
        return values.transpose(order).reshape(*values.shape[:draws], -1)


class Residual(Marginal):
    """The component of some attributes: their marginal less its means along each axis, as releases measure it.

    Args:
        names: of the attributes, in the order of the axes of the answers.
    """

    __slots__ = ()

    def sums(self, domain: Domain) -> Sums:
        """The component, in the order of the domain."""
        return MarginalSums(domain.sizes, domain.positions(self.names), is_centered=True)


@dataclass(frozen=True, eq=False, slots=True)
class CellSums(QueryGroup):
    """Sums of any cells, none of which is in two of them.

    Attributes:
        rows (k, n_1 ... n_d): a row for each sum, 1 for the cells that are in it, else 0; cells in C order.

    Raises:
        WorkloadError: the entries are not 0 and 1, or a cell is in two sums.
    """

    rows: FloatArray

    def __init__(self, rows: ArrayLike) -> None:
        array = require_numbers("rows must be a matrix of zeros and ones", rows)
        if array.ndim != 2 or not np.isin(array, (0.0, 1.0)).all():
            raise WorkloadError(
                "rows must be a matrix of zeros and ones, a row for each sum and a column for each cell"
            )
        if not (array.sum(axis=0) <= 1).all():
            raise WorkloadError("rows must have no cell in two sums; write two groups")
        object.__setattr__(self, "rows", frozen(array.copy()))

    def sums(self, domain: Domain) -> Sums:
        """The rows, as they are."""
        cells = domain.cells(domain.names)
        if self.rows.shape[1] != cells:
            raise WorkloadError(f"rows must have a column for each of {cells:,} cells, got {self.rows.shape[1]:,}")
        return MatrixSums(domain.sizes, self.rows)

    def shape(self, domain: Domain) -> tuple[int, ...]:  # noqa: ARG002 - of any domain
        """One answer for each row."""
        return (len(self.rows),)


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
    shape = answers.group.shape(domain)
    values = require_numbers("answers must be numbers", answers.values)
    if values.shape[max(values.ndim - len(shape), 0) :] != shape:
        raise DataError(f"answers of {answers.group!r} need the shape {shape}, got {values.shape}")
    if not values.size:
        raise DataError(f"answers of {answers.group!r}: there are no draws of the noise; give at least one")
    if not np.isfinite(values).all():
        raise DataError(f"answers of {answers.group!r} must be finite")
    return answers.group.arranged(domain, values)


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

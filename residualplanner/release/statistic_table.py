"""What tables of statistics by group have in common: the answers that they are made of, their columns, a data frame."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.notebooks import frame_html
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, tied_kind
from residualplanner.method.workload.query import QueryLike, kinds_by_name
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.release.product import Product

if TYPE_CHECKING:
    import pandas as pd

_UNBIASED = (
    "means and quantiles are made of the unbiased tables that reconstruct returns, or of a folder of these; a folder "
    "of others has theirs as they were published: load_tables(folder).numbers.statistic(query)"
)


class Column(NamedTuple):
    """A column of a table of statistics."""

    name: str
    field: str  # of `StatisticTable.numbers`, which holds its values
    of: Literal["amounts", "counts", "nothing", "truth"]  # whose unit it has; or whether something is so
    meaning: str  # in words; {level} is the confidence level, {estimate} what an estimate is called
    #: Tables have it, too, or it is made of what they have, so that it is published as it is there, beside that of the
    #: unbiased estimates if wanted, or alone; or it stays that of these where tables are adjusted, and says so.
    role: Literal["of tables", "of tables alone", "of unbiased"]
    is_adjusted: bool = False  # whether its values follow from adjusted answers
    note: str = ""

    def described(self, attribute: Attribute, count_unit: str, level: float) -> tuple[str, str, str]:
        """Name, unit and meaning; the unit is empty where there is none."""
        units = {"amounts": unit_of(attribute), "counts": count_unit}
        estimate = "estimate" if self.is_adjusted else "unbiased estimate"
        meaning = self.meaning.format(level=f"{level:.15g}", estimate=estimate)
        return self.name, units.get(self.of, ""), "; ".join(filter(None, (meaning, self.note)))

    def published(self, numbers: Product, *, with_unbiased: bool) -> Iterable["Column"]:
        """The columns in its place where numbers were made from unbiased estimates; names say which is which."""
        # Means and errors stay those of the unbiased estimates: adjusted tables are biased, and ratios of their numbers
        # may be off by many standard errors.  Counts and sums are those of the tables; so are proportions, which would
        # contradict the counts beside them, and would not add up.
        if self.role != "of unbiased":
            yield self._replace(name=self.name + numbers.ending, is_adjusted=True, note=numbers.mark)
        if self.role == "of unbiased" or (with_unbiased and self.role == "of tables"):
            note = "of the unbiased estimates that the numbers were made from"
            yield self._replace(name=f"{self.name}_unbiased", note=note)


def unit_of(attribute: Attribute) -> str:
    """The unit of the amounts of an attribute, or else its name."""
    return attribute.about.unit or attribute.name


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class StatisticTable(ABC):
    """A statistic of the amounts, or bins, of an attribute for each group.

    Attributes:
        attribute: whose amounts it is about.
        unit: of the amounts, in words.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        level: the confidence level of the intervals.
        more_axes: the labels of axes after those of the groups, by the names of their columns.
        estimate: an axis for each attribute of the groups, and for more.
        low: the lower ends of the intervals.
        high: the upper ends.
    """

    phrase: ClassVar[str]  # what it holds, of an attribute whose {name} and {unit} stand in it
    columns: ClassVar[tuple[Column, ...]]  # of its numbers, in their order

    attribute: str
    unit: str
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    level: float
    more_axes: Mapping[str, tuple[object, ...]]
    estimate: FloatArray
    low: FloatArray
    high: FloatArray

    @staticmethod
    @abstractmethod
    def numbers(kind: Any, answers: FloatArray, variances: FloatArray, level: float) -> dict[str, FloatArray]:
        """The statistic (groups.., more axes..) by field, from a kind's answers (q, groups..) and their variances."""

    @classmethod
    def of_release(cls, release: Any, attribute: str, by: QueryLike, kind: Statistic, level: float) -> Self:
        """The statistic of an attribute by groups; WorkloadError unless tables are unbiased and give the answers."""
        margin_factor(level)
        is_release = isinstance(release, Mapping) and isinstance(getattr(release, "plan", None), Plan)
        if not is_release or not release.product.is_unbiased:
            raise WorkloadError(_UNBIASED)
        query = statistic_query(release.plan, attribute, by, kind)
        try:
            table = release[query]
        except WorkloadError as error:
            raise WorkloadError(f"{_lacking(kind, attribute, query)} ({error})") from None
        own, tied = table.plan.domain[attribute], tied_kind(kind, table.plan.domain[attribute])
        assert isinstance(tied, Statistic)
        answers, variances = (np.moveaxis(each, -1, 0) for each in (table.estimate, table.variance))
        numbers = cls.numbers(tied, answers, variances, level).items()
        values = {field: frozen(np.array(values)) for field, values in numbers}
        return cls(attribute, unit_of(own), table.names[:-1], table.labels[:-1], level, tied.more_axes, **values)

    @classmethod
    def title(cls, name: str, unit: str) -> str:
        """What it holds, of an attribute of this name; amounts without a unit have their name for one."""
        return cls.phrase.format(name=name, unit=unit).removesuffix(f" ({name})")

    def __repr__(self) -> str:
        return f"{self.title(self.attribute, self.unit)}\n{self.to_frame()}"

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    def to_frame(self) -> "pd.DataFrame":
        """A row for each group, with its labels and the columns of numbers."""
        import pandas as pd

        rows = [*product(*self.labels, *self.more_axes.values())]
        frame = pd.DataFrame(rows, columns=[*self.names, *self.more_axes], index=range(len(rows)))
        return frame.assign(**{column.name: np.ravel(getattr(self, column.field)) for column in self.columns})


def statistic_query(plan: Plan, attribute: str, by: QueryLike, kind: Statistic) -> dict[str, Kind]:
    """The query for a statistic by groups, its axis the last; WorkloadError where the plan lacks its rows."""
    groups = kinds_by_name(plan.domain, by)
    if attribute in groups:
        raise WorkloadError(f"{attribute!r} cannot make the groups of its own statistics; leave it out of by=")
    query: dict[str, Kind] = {**groups, attribute: kind}
    if not _is_answered(plan.workload, attribute, tied_kind(kind, plan.domain[attribute])):
        raise WorkloadError(_lacking(kind, attribute, query))
    return query


def _is_answered(workload: Workload, attribute: str, kind: Kind) -> bool:
    """Whether rows are sums of multiples of those that queries have on the attribute, and of the row of a total.

    Others may be measured too, to complete a basis, but with noise without bounds.
    """
    position = workload.domain.names.index(attribute)
    size, wanted = workload.domain.sizes[position], kind.matrix(workload.domain.sizes[position])
    used = [workload.kinds[code] for code in np.flatnonzero(workload.uses[position])]
    if kind in used:
        return True
    rows = np.concatenate([np.ones((1, size)), *(each.matrix(size) for each in used)])
    # Rows of sums are as large as the amounts: scaled, so that the pseudoinverse does not take rows of counts for 0.
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    left = wanted - wanted @ np.linalg.pinv(scaled) @ scaled
    return bool((np.abs(left) <= 1e-9 * np.abs(wanted).max()).all())


def _lacking(kind: Statistic, attribute: str, query: Mapping[str, Kind]) -> str:
    groups = [name for name in query if name != attribute]
    return (
        f"the release does not answer the {kind.name} of {attribute!r} by {groups}; let the workload have {query!r}, "
        "plan and measure again"
    )

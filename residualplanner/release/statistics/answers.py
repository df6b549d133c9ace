"""The answers that a statistic is made of, as tables and releases give them."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, statistic_among, tied_kind
from residualplanner.method.workload.query import QueryLike, WrittenQuery, kinds_by_name
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.statistics import Statistic

_UNBIASED = (
    "means and quantiles are made of the unbiased tables that reconstruct returns, or of a folder of these; a folder "
    "of others has theirs as they were published: load_tables(folder).numbers.statistic(query)"
)


class TableOfAnswers(Protocol):
    """What is read of a table."""

    @property
    def plan(self) -> Plan: ...  # noqa: D102

    @property
    def positions(self) -> tuple[int, ...]: ...  # noqa: D102

    @property
    def kinds(self) -> tuple[Kind, ...]: ...  # noqa: D102

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def labels(self) -> tuple[tuple[object, ...], ...]: ...  # noqa: D102

    @property
    def estimate(self) -> FloatArray: ...  # noqa: D102

    @property
    def variance(self) -> FloatArray: ...  # noqa: D102


class StatisticAnswers(NamedTuple):
    """The answers that a statistic is made of, and their variances.

    Attributes:
        kind: the statistic, tied to its attribute.
        attribute: whose statistic it is.
        names: of the attributes that make the groups, axis by axis.
        labels: along each axis.
        estimate (q, groups..): the answers, one row of the kind after another.
        variance (q, groups..): of each.
    """

    kind: Statistic
    attribute: Attribute
    names: tuple[str, ...]
    labels: tuple[tuple[object, ...], ...]
    estimate: FloatArray
    variance: FloatArray


def answers_of(table: TableOfAnswers) -> StatisticAnswers | None:
    """The answers of a table that a statistic is made of; None where its query is for none."""
    positions, kinds = WrittenQuery(table.positions, table.kinds).table_axes
    axis = statistic_among(kinds)
    if axis is None:
        return None
    kind = kinds[axis]
    assert isinstance(kind, Statistic)
    return StatisticAnswers(
        kind,
        table.plan.domain.attributes[positions[axis]],
        (*table.names[:axis], *table.names[axis + 1 :]),
        (*table.labels[:axis], *table.labels[axis + 1 :]),
        np.moveaxis(table.estimate, axis, 0),
        np.moveaxis(table.variance, axis, 0),
    )


def grouped_answers(release: Any, attribute: str, by: QueryLike, kind: Statistic) -> StatisticAnswers:
    """The answers that a statistic of an attribute is made of, by groups, from unbiased tables.

    Raises:
        WorkloadError: the tables are not unbiased, or do not give these answers.
    """
    if not isinstance(getattr(release, "plan", None), Plan) or not isinstance(release, Mapping):
        raise WorkloadError(_UNBIASED)
    if not release.product.is_unbiased:  # type: ignore[attr-defined]
        raise WorkloadError(_UNBIASED)
    query = statistic_query(release.plan, attribute, by, kind)  # type: ignore[attr-defined]
    try:
        found = answers_of(release[query])
    except WorkloadError as error:
        raise WorkloadError(f"{_lacking(kind, attribute, query)} ({error})") from None
    assert found is not None
    return found


def statistic_query(plan: Plan, attribute: str, by: QueryLike, kind: Statistic) -> dict[str, Kind]:
    """The query for a statistic of an attribute by groups, its axis the last.

    Raises:
        WorkloadError: the attribute has no such statistic, or the plan does not answer it for want of its rows.
    """
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
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    left = wanted - wanted @ np.linalg.pinv(scaled) @ scaled
    return bool((np.abs(left) <= 1e-9 * np.abs(wanted).max()).all())


def _lacking(kind: Statistic, attribute: str, query: Mapping[str, Kind]) -> str:
    """What to add to the workload."""
    groups = [name for name in query if name != attribute]
    return (
        f"the release does not answer the {kind.name} of {attribute!r} by {groups}; let the workload have {query!r}, "
        "plan and measure again"
    )

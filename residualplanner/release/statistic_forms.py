"""The statistic that a query is for, as all that writes or shows it knows it: columns with units, axes, title, values.

A new statistic is a kind of query for the answers that it is made of, and a table, which `TABLES` has by that kind.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.kind import MEANING, Kind, statistic_among
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.moments import StandardDeviation
from residualplanner.more.amounts.statistics import Mean, Quantiles, Statistic
from residualplanner.more.queries.proportions import Proportions
from residualplanner.release.deviations import DeviationTable
from residualplanner.release.means import MeanTable, QuantileTable
from residualplanner.release.profiles import Profile
from residualplanner.release.proportions import ProportionTable
from residualplanner.release.statistic_table import Column, StatisticTable, unit_of
from residualplanner.release.tidy_form import label_columns

TABLES: dict[type[Statistic], type[StatisticTable]] = {
    Mean: MeanTable,
    Quantiles: QuantileTable,
    Proportions: ProportionTable,
    StandardDeviation: DeviationTable,
}


@dataclass(frozen=True)
class StatisticForm:
    """The statistic that a query is for, with a row for each group, and for each label of more axes."""

    kind: Statistic
    attribute: Attribute  # whose statistic it is
    axis: int  # that of the kind in tables, counted from their last one
    groups: tuple[tuple[Attribute, Kind], ...]
    positions: tuple[int, ...]  # of the attributes of groups, in the domain
    columns: tuple[Column, ...]  # those of numbers

    @property
    def title(self) -> str:
        """What it holds, in words."""
        return TABLES[type(self.kind)].title(self.attribute.name, unit_of(self.attribute))

    @cached_property
    def axes(self) -> tuple[dict[str, tuple[object, ...]], ...]:
        """The columns of labels along each axis, by name."""
        more = {name: {name: tuple[object, ...](labels)} for name, labels in self.kind.more_axes.items()}
        meanings = self.kind.meanings_of_values(self.attribute)
        if meanings is not None:
            name = self.kind.axis_of_values
            more[name][f"{name}_{MEANING}"] = meanings
        return (*(label_columns(*group) for group in self.groups), *more.values())

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return math.prod(len(next(iter(columns.values()))) for columns in self.axes)

    def described(self, count_unit: str, level: float) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of the columns of numbers."""
        return [column.described(self.attribute, count_unit, level) for column in self.columns]

    def numbers(self, answers: FloatArray, variance: FloatArray, level: float) -> dict[str, FloatArray]:
        """The numbers by field, from the answers of a table, or of several of one shape, and their variances."""
        errors = np.moveaxis(np.broadcast_to(variance, answers.shape), self.axis, 0)
        return TABLES[type(self.kind)].numbers(self.kind, np.moveaxis(answers, self.axis, 0), errors, level)

    def values(
        self, estimate: FloatArray, unbiased: FloatArray, variance: FloatArray, level: float
    ) -> dict[str, FloatArray]:
        """The numbers by the names of their columns, (rows,) each, or (tables * rows,).

        They follow from a table (.., q_1, .., q_k), or several of one shape, the unbiased one that it was made from,
        and its variance.
        """
        own = of_unbiased = self.numbers(unbiased, variance, level)
        if any(column.is_adjusted for column in self.columns):
            own = self.numbers(estimate, variance, level)
        return {each.name: np.ravel((own if each.is_adjusted else of_unbiased)[each.field]) for each in self.columns}


def statistic_form(domain: Domain, profile: Profile, query: WrittenQuery) -> StatisticForm | None:
    """The form of the statistic that a query is for, in a profile of some product; None where it is for none."""
    positions, kinds = query.table_axes
    axis = statistic_among(kinds)
    if axis is None:
        return None
    kind = kinds[axis]
    assert isinstance(kind, Statistic)
    others = [number for number in range(len(kinds)) if number != axis]
    groups = tuple((domain.attributes[positions[number]], kinds[number]) for number in others)
    places = tuple(positions[number] for number in others)
    columns = columns_in(profile, kind)
    return StatisticForm(kind, domain.attributes[positions[axis]], axis - len(kinds), groups, places, columns)


def columns_in(profile: Profile, kind: Statistic) -> tuple[Column, ...]:
    """The columns of numbers of a statistic in a profile, which says what the numbers are."""
    columns, product, beside = TABLES[type(kind)].columns, profile.product, profile.with_unbiased
    if product.is_unbiased:
        return columns
    return tuple(each for column in columns for each in column.published(product, with_unbiased=beside))


def kinds_of_statistics(workload: Workload) -> dict[str, list[int]]:
    """By the word for a sort of statistic the numbers of the kinds of query for it."""
    found: dict[str, list[int]] = {}
    for code, kind in enumerate(workload.kinds):
        if isinstance(kind, Statistic):
            found.setdefault(kind.statistics, []).append(code)
    return found


def rows_of_statistics(workload: Workload) -> Iterator[int]:
    """The numbers of the queries for statistics, ascending."""
    if kinds_of_statistics(workload):
        for row in range(len(workload)):
            if statistic_among(workload.query_at(row).table_axes.kinds) is not None:
                yield row

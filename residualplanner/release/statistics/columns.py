"""The columns of tables of statistics, of unbiased estimates and of numbers made from these: names, units, meanings."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol

from residualplanner.method.domain.attribute import Attribute

#: What is said of a column that stays that of the unbiased estimates where numbers were made from these.
_OF_UNBIASED = "of the unbiased estimates that the numbers were made from"


class ProductOfNumbers(Protocol):
    """What is said of numbers."""

    @property
    def is_unbiased(self) -> bool: ...  # noqa: D102

    @property
    def ending(self) -> str: ...  # noqa: D102

    @property
    def mark(self) -> str: ...  # noqa: D102


class Column(NamedTuple):
    """A column of a table of statistics.

    Attributes:
        name: of the column.
        field: of the table, which holds its values.
        of: whose unit it has: that of the amounts, that of counts of records, or none.
        meaning: in words; ``{level}`` is the confidence level, ``{estimate}`` what an estimate is called.
        role: what tables have, too, so that it is published as it is there; or what stays that of the unbiased
            estimates where tables are adjusted, and says so.
        is_adjusted: whether its values follow from adjusted answers.
        note: what else is said of it.
    """

    name: str
    field: str
    of: Literal["amounts", "counts", "neither"]
    meaning: str
    role: Literal["of tables", "of unbiased"]
    is_adjusted: bool = False
    note: str = ""

    def described(self, attribute: Attribute, count_unit: str, level: float) -> tuple[str, str, str]:
        """Name, unit and meaning; the unit is empty where there is none."""
        units = {"amounts": unit_of(attribute), "counts": count_unit, "neither": ""}
        estimate = "estimate" if self.is_adjusted else "unbiased estimate"
        meaning = self.meaning.format(level=f"{level:.15g}", estimate=estimate)
        return self.name, units[self.of], "; ".join(filter(None, (meaning, self.note)))

    def published(self, product: ProductOfNumbers, *, with_unbiased: bool) -> Iterable["Column"]:
        """The columns in its place where numbers were made from unbiased estimates.

        Statistics and errors stay those of the unbiased estimates: adjusted tables are biased, and ratios of their
        numbers may be off by many standard errors.  Counts and sums are those of the tables, with unbiased estimates
        beside them if these are wanted.  Names say which is which.
        """
        if self.role == "of tables":
            yield self._replace(name=self.name + product.ending, is_adjusted=True, note=product.mark)
        if self.role == "of unbiased" or (self.role == "of tables" and with_unbiased):
            yield self._replace(name=f"{self.name}_unbiased", note=_OF_UNBIASED)


def published_columns(
    columns: tuple[Column, ...], product: ProductOfNumbers, *, with_unbiased: bool = False
) -> tuple[Column, ...]:
    """The columns of a statistic in a release of some product: the same where it is unbiased.

    Args:
        columns: those of unbiased estimates.
        product: what the numbers of the release are.
        with_unbiased: whether there are columns of unbiased estimates, too, beside numbers that were made from these.
    """
    if product.is_unbiased:
        return columns
    return tuple(each for column in columns for each in column.published(product, with_unbiased=with_unbiased))


def unit_of(attribute: Attribute) -> str:
    """The unit of the amounts of an attribute, or else its name."""
    return attribute.about.unit or attribute.name

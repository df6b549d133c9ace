"""Which data sets count as neighbors: what one person may change.  Source: docs/mathematics.md sections 1 and 8."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from residualplanner.ground.checks import is_integer, value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import suggestion

Notion = Literal["add-remove", "replace"]

_CHANGES = {"add-remove": "adding or removing", "replace": "replacing"}


@dataclass(frozen=True, slots=True)
class Neighbors:
    """What may differ between two data sets that the release must not tell apart.

    Attributes:
        notion: "add-remove" (one data set has more records) or "replace" (records have other values; the number of
            records is public).
        records_per_person: the most records that one person contributes, all of which may change; at least 1.  It is a
            promise about the data, which is not checked.
        largest_weight: how often each of them counts at most; weighted records are added or removed.

    Raises:
        BudgetError: another notion, or not an integer of records.

    Example:
        >>> print(Neighbors("replace", 3).words)
        replacing up to 3 records
    """

    notion: Notion = "add-remove"
    records_per_person: int = 1
    largest_weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not isinstance(self.notion, str) or self.notion not in get_args(Notion):
            raise BudgetError(
                f"neighbors must be one of {list(get_args(Notion))}, got {value_text(self.notion)}"
                f"{suggestion(self.notion, get_args(Notion))}"
            )
        records = self.records_per_person
        if not is_integer(records, least=1) or records > 10**6:
            raise BudgetError(f"records_per_person must be an integer from 1 to 1,000,000, got {value_text(records)}")
        object.__setattr__(self, "records_per_person", int(records))

    @property
    def has_public_total(self) -> bool:
        """Whether the number of records is public, as data sets have equally many if they are neighbors."""
        return self.notion == "replace"

    @property
    def cost_factor(self) -> Fraction:
        """How much more all records of a person cost than one of weight 1: k w squared, when all fall into one cell.

        Source: eqs. (101) and (102).
        """
        return (self.records_per_person * self.largest_weight) ** 2

    @property
    def cost_factor_up(self) -> float:
        """The same as a float, rounded up."""
        exact = self.cost_factor
        nearest = float(exact)
        return nearest if nearest >= exact else math.nextafter(nearest, math.inf)

    @property
    def words(self) -> str:
        """The change that the privacy statement is about."""
        count = "one record" if self.records_per_person == 1 else f"up to {self.records_per_person} records"
        return f"{_CHANGES[self.notion]} {count}"

"""What the records are, in a spec file: how much each counts, and how many of each person do.

Reads: values as TOML's parser gives them.  Gives: tables whose values have been checked one by one.
"""

import re
from typing import Literal

from pydantic import Field, field_validator

from residualplanner.cli.spec.values import Exact, SpecTable, refusal
from residualplanner.domain import Weight


class WeightTable(SpecTable):
    """The column that says how much each record counts."""

    column: str = Field(description="The column, which is none of [domain].")
    maximum: Exact = Field(description="The largest weight, as publicly known: noise is as if every record had it.")
    unit: Exact = Field("1", description="All weights are multiples of it.")
    above: Literal["refuse", "clip"] = Field(
        "refuse", description="Of a larger weight: the records are refused, or it counts as the maximum."
    )

    @property
    def weight(self) -> Weight:
        """The same as the library's noun; DomainError where a number is out of range."""
        return Weight(self.column, maximum=self.maximum, unit=self.unit, above=self.above)


class PeopleTable(SpecTable):
    """Whose each record is: of each person no more records are counted than the plan protects."""

    person: str = Field(description="The column that says whose a record is: integers or text.")
    keep: int | None = Field(
        None, ge=1, le=10**6, description="How many records of each person count; it sets records_per_person."
    )
    order: str | None = Field(
        None, description="The column by which each person's records are ordered, the first of which count."
    )
    key: str | None = Field(
        None, description="64 hexadecimal digits from which random choices follow: the same choice in every run."
    )

    @field_validator("key")
    @classmethod
    def _is_hexadecimal(cls, key: str | None) -> str | None:
        if key is not None and re.fullmatch("[0-9a-f]{64}", key) is None:
            raise refusal(
                "64 hexadecimal digits, 0 to 9 and a to f, are expected, as `openssl rand -hex 32` writes them"
            )
        return key

    @property
    def choice(self) -> dict[str, bytes]:
        """The key of random choices, as an argument of `LimitedRecords`; nothing where it makes one."""
        return {} if self.key is None else {"key": bytes.fromhex(self.key)}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return (self.person,) if self.order is None else (self.person, self.order)

    @property
    def options(self) -> tuple[str, ...]:
        """The options with which `measure` keeps as many records as a plan protects."""
        return ("--person", self.person, *(() if self.order is None else ("--order", self.order)))

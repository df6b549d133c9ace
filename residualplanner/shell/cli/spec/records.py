"""What the records are, in a spec file: how much each counts, and how many of each person do.

Reads: values as TOML's parser gives them.  Gives: tables whose values have been checked one by one.
"""

import re
from typing import Literal

from pydantic import Field, field_validator

from residualplanner.ground.errors import DataError
from residualplanner.more.amounts.weight import Weight
from residualplanner.shell.cli.spec.values import Exact, SpecTable, refusal

#: What a key must be.
_KEY_WORDS = "64 hexadecimal digits, 0 to 9 and a to f, are expected, as `openssl rand -hex 32` writes them"


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
        if not _is_key(key):
            raise refusal(_KEY_WORDS)
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
        given = {"--person": self.person, "--order": self.order, "--key": self.key}
        return tuple(word for option, value in given.items() if value is not None for word in (option, value))


def typed_people(person: str | None, order: str | None, key: str | None) -> PeopleTable | None:
    """What options say of persons; None where they say nothing.

    Raises:
        DataError: there is an order or a key without a column of persons, or the key is none.
    """
    if person is None:
        for option, value in {"--order": order, "--key": key}.items():
            if value is not None:
                raise DataError(f"{option} is for the records of each person; name the column of persons with --person")
        return None
    if not _is_key(key):
        raise DataError(f"--key: {_KEY_WORDS}")
    return PeopleTable(person=person, keep=None, order=order, key=key)


def _is_key(key: str | None) -> bool:
    return key is None or re.fullmatch("[0-9a-f]{64}", key) is not None

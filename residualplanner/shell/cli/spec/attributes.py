"""The columns of a spec file, and the values that each can take.

Reads: values as TOML's parser gives them.  Gives: the same, checked one by one.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from residualplanner.shell.cli.spec.classifications import CodeLengths, Levels
from residualplanner.shell.cli.spec.values import (
    DeclaredLabel,
    Edge,
    Exact,
    Month,
    NumericBins,
    Rule,
    SpecTable,
    checked,
    refusal,
)

#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"


class NumericTable(SpecTable):
    """Amounts whose sums are published: limits, and bins between them."""

    low: Exact = Field(description="The least amount that counts as itself.")
    high: Exact = Field(description="The largest.")
    unit: Exact = Field(1, description='What amounts are multiples of, such as 100 or "0.01".')
    bins: NumericBins = Field(1, description="How many bins of equal width, or the edges between low and high.")
    outside: Literal["refuse", "clip"] = Field(
        "refuse", description="What becomes of amounts outside the limits: refuse (the rule unknown holds), or clip."
    )
    between_units: Literal["round", "refuse"] = Field(
        "round", description="What becomes of amounts between two multiples of the unit: round, or refuse."
    )


class AttributeTable(SpecTable):
    """One column: exactly one of a size, labels, bins (which may have labels), months, years and numeric; and words."""

    size: int | None = Field(None, ge=1, description="The records hold codes 0 .. size-1.")
    labels: list[DeclaredLabel] | None = Field(
        None, min_length=1, description="The values themselves, or pairs of a value and its meaning; or names of bins."
    )
    bins: list[Edge] | None = Field(
        None, min_length=2, description="Edges of intervals of numbers or dates, strictly increasing."
    )
    months: list[Month] | None = Field(
        None, min_length=2, max_length=2, description="The first and the last month, for a column of dates."
    )
    years: list[int] | None = Field(
        None, min_length=2, max_length=2, description="The first and the last year, for a column of dates."
    )
    numeric: NumericTable | None = Field(
        None, description="Limits and bins of amounts, for a column whose sums are published."
    )
    hierarchy: str | None = Field(
        None, description="A CSV file beside the spec, whose leaves are the values: a code and a name on each level."
    )
    levels: Levels | None = Field(
        None, description="Of the file, from coarse to fine; or each with its columns of codes and names."
    )
    code_lengths: CodeLengths = Field({}, description='How many characters codes have, by level; "any": they differ.')
    encoding: str = Field("utf-8", description="Of the file.")
    separator: str = Field(",", description="Between two entries of a line of the file.")
    unknown: Rule = Field(
        "error", description="For values that are none of these: error, drop, one of the values, or a label of its own."
    )
    missing: Rule = Field(
        "error", description="For records without a value: error, drop, one of the values, or a label of its own."
    )
    title: str = Field("", description="What the column is called, for readers of the tables.")
    unit: str = Field("", description="The unit of its values.")
    source: str = Field("", description="Where its definition is from.")
    note: str = Field("", description="Anything else that readers should know of it.")

    @model_validator(mode="after")
    def _has_values(self) -> "AttributeTable":
        values = [self.size, self.bins or self.labels, self.months, self.years, self.numeric, self.hierarchy]
        if sum(given is not None for given in values) != 1:
            raise refusal(
                "give exactly one of size, labels, bins, months, years, numeric and hierarchy (bins may have labels)"
            )
        if (self.hierarchy is None) != (self.levels is None):
            raise refusal(
                'a hierarchy is a file and its levels: hierarchy = "county.csv", levels = ["state", "county"]'
            )
        foreign = sorted({"code_lengths", "encoding", "separator"} & self.model_fields_set)
        if foreign and self.hierarchy is None:
            raise refusal(f"{foreign[0]!r} belongs to a hierarchy; there is none")
        return self


def _attribute(value: Any) -> Any:
    """The short forms of an attribute written out."""
    if isinstance(value, bool) or not isinstance(value, int | list | dict | str):
        raise refusal("expected a size, a list of labels, or a table such as { bins = [0, 9] }")
    if isinstance(value, str):
        checked(lambda text: text == UNDECLARED, "expected a size, a list of labels, or a table")(value)
        return None
    if isinstance(value, int):
        return {"size": value}
    return {"labels": value} if isinstance(value, list) else value


Attribute = Annotated[
    AttributeTable | None,
    BeforeValidator(_attribute, json_schema_input_type=int | list[DeclaredLabel] | Literal["?"] | AttributeTable),
]

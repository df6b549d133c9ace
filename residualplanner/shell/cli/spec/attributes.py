"""The columns of a spec file, the values that each can take, and classifications of these in CSV files beside it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema, model_validator

from residualplanner.shell.cli.spec.values import (
    DeclaredLabel,
    Edge,
    Exact,
    Expected,
    Month,
    NumericBins,
    Rule,
    SpecTable,
    is_integer,
    is_list_of,
    is_text,
    refusal,
    unlike,
)

#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"

#: By level, or by column of a crosswalk, how many characters its codes have.
CodeLengths = dict[
    str,
    Annotated[
        int | Literal["any"],
        Expected(
            'a number of characters, or "any" where codes differ in length',
            lambda value: value == "any" or (is_integer(value) and value >= 1),
            {"anyOf": [{"type": "integer", "minimum": 1}, {"const": "any"}]},
        ),
    ],
]
_COLUMNS = Expected(
    'a column of codes, or a pair of the columns of codes and names as ["GEOID", "NAME"]',
    lambda value: is_text(value) or (is_list_of(is_text, value) and len(value) == 2),
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}]},
)


def _levels(value: Any) -> Any:
    """Names of levels, or a table of the columns of each."""
    if not value or not (is_list_of(is_text, value) or isinstance(value, dict)):
        raise unlike(
            'expected levels from coarse to fine such as ["state", "county"], or a table with the columns of each',
            value,
        )
    return {name: _COLUMNS.checked(columns) for name, columns in value.items()} if isinstance(value, dict) else value


_LEVELS_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"type": "object", "additionalProperties": _COLUMNS.schema, "minProperties": 1},
    ]
}
#: The levels of a hierarchy in a file.
Levels = Annotated[list[str] | dict[str, Any], PlainValidator(_levels), WithJsonSchema(_LEVELS_SCHEMA)]


class CrosswalkTable(SpecTable):
    """Other groups of the leaves of an attribute's hierarchy, in a CSV file beside the spec."""

    file: str = Field(description="A CSV file beside the spec, with a row for each leaf.")
    leaf: str = Field(description="The column of the codes of the leaves.")
    group: str = Field(description="The column of the codes of the groups; it names their level.")
    name: str = Field("", description="The column of the names of the groups, if there is one.")
    within: str = Field("", description="A level of the attribute's own hierarchy along which groups are cut.")
    ungrouped: str | None = Field(None, description="The code of a group for leaves that the file has no group for.")
    code_lengths: CodeLengths = Field({}, description='How many characters codes have, by column; "any": they differ.')
    encoding: str = Field("utf-8", description="Of the file.")
    separator: str = Field(",", description="Between two entries of a line of the file.")


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
        if value != UNDECLARED:
            raise unlike("expected a size, a list of labels, or a table", value)
        return None
    if isinstance(value, int):
        return {"size": value}
    return {"labels": value} if isinstance(value, list) else value


Attribute = Annotated[
    AttributeTable | None,
    BeforeValidator(_attribute, json_schema_input_type=int | list[DeclaredLabel] | Literal["?"] | AttributeTable),
]

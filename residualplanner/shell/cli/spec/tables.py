"""The tables of a spec file on columns, the values that each can take, and queries."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.runs import Prefix, Range
from residualplanner.more.amounts.amounts import Sum
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.shell.cli.spec.values import (
    KINDS,
    NAMES,
    Date,
    DeclaredLabel,
    Edge,
    Exact,
    Label,
    Month,
    NumericBins,
    Real,
    Rule,
    SpecTable,
    expected,
    refusal,
    unlike,
)

#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"

#: By level, or by column of a crosswalk, how many characters its codes have; None where they differ.
_Length = Annotated[int, Field(ge=1)]
CodeLengths = dict[
    str,
    Annotated[
        _Length | None,
        BeforeValidator(lambda each: None if each == "any" else each, json_schema_input_type=_Length | Literal["any"]),
        expected('a number of characters, or "any" where codes differ in length'),
    ],
]
_Columns = Annotated[
    str | Annotated[tuple[str, str], Field(strict=False)],  # TOML has lists alone
    expected('a column of codes, or a pair of the columns of codes and names as ["GEOID", "NAME"]'),
]


def _levels(value: Any) -> Any:
    are_names = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if not value or not (are_names or isinstance(value, dict)):
        raise unlike(
            'expected levels from coarse to fine such as ["state", "county"], or a table with the columns of each',
            value,
        )
    return value


#: The levels of a hierarchy in a file: their names, or the columns of each.
Levels = Annotated[
    Annotated[list[str], Tag(NAMES)] | Annotated[dict[str, _Columns], Tag(KINDS)],
    Discriminator(lambda value: KINDS if isinstance(value, dict) else NAMES),
    BeforeValidator(_levels),
]


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
    outside: Literal["refuse", "clip"] = Field("refuse", description="Of amounts outside; to refuse: they are unknown.")
    between_units: Literal["round", "refuse"] = Field("round", description="Of amounts between multiples of the unit.")


class AttributeTable(SpecTable):
    """One column: exactly one of a size, labels, bins (which may have labels), months, years and numeric; and words."""

    size: int | None = Field(None, ge=1, description="The records hold codes 0 .. size-1.")
    labels: list[DeclaredLabel] | None = Field(
        None, min_length=1, description="The values, or pairs of a value and its meaning; or names of bins."
    )
    bins: list[Edge] | None = Field(
        None, min_length=2, description="Increasing edges of intervals of numbers or dates."
    )
    months: list[Month] | None = Field(
        None, min_length=2, max_length=2, description="Of dates: the first and the last."
    )
    years: list[int] | None = Field(None, min_length=2, max_length=2, description="Of dates: the first and the last.")
    numeric: NumericTable | None = Field(None, description="Limits and bins of amounts whose sums are published.")
    hierarchy: str | None = Field(None, description="A CSV file beside the spec, whose leaves are the values.")
    levels: Levels | None = Field(None, description="Of the file, from coarse to fine; or each with its columns.")
    code_lengths: CodeLengths = Field({}, description='How many characters codes have, by level; "any": they differ.')
    encoding: str = Field("utf-8", description="Of the file.")
    separator: str = Field(",", description="Between two entries of a line of the file.")
    unknown: Rule = Field(
        "error", description="For other values: error, drop, one of the values, or a label of its own."
    )
    missing: Rule = Field("error", description="The same for records without a value.")
    title: str = Field("", description="What the column is called, for readers of the tables.")
    unit: str = Field("", description="The unit of its values.")
    source: str = Field("", description="Where its definition is from.")
    note: str = Field("", description="Anything else that readers should know of it.")

    @model_validator(mode="after")
    def _has_values(self) -> "AttributeTable":
        values = [self.size, self.bins or self.labels, self.months, self.years, self.numeric, self.hierarchy]
        if sum(given is not None for given in values) != 1:
            raise refusal("give exactly one of size, labels, bins, months, years, numeric and hierarchy")
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

#: By its word what makes a kind of query, and the fields that are its arguments; a hierarchy may need a file beside.
MAKERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "identity": (Identity, ()),
    "prefix": (Prefix, ()),
    "range": (Range, ()),
    "sum": (Sum, ("by",)),
    "mean": (Mean, ("between",)),
    "quantiles": (Quantiles, ("probabilities",)),
    "hierarchy": (None, ("levels", "total", "leaves", "crosswalk")),
    "custom": (Custom, ("matrix", "labels")),
    "matching": (Matching, ("at_least",)),
}
#: What a kind cannot do without, and what to write.
_REQUIRED = {
    "custom": ("matrix", "give the rows of the custom query: matrix = [[1, 1, 1], [0, 1, 2]]"),
    "matching": ("at_least", "give how many attributes of this kind must match: at_least = 1"),
}
_GroupLevel = Annotated[
    int | dict[str, list[Label]], expected('an integer, or groups and their members such as { West = ["CA", "WA"] }')
]


class KindTable(SpecTable):
    """The kind of query on one attribute: a hierarchy has levels or a file, a custom query has a matrix."""

    kind: Literal["identity", "prefix", "range", "sum", "mean", "quantiles", "hierarchy", "custom", "matching"]
    by: Literal["bin"] | None = Field(None, description="Of a sum: bin, for one of the amounts in each bin.")
    between: list[Real] | None = Field(
        None, min_length=2, max_length=2, description="Of a mean: two amounts between which means are expected."
    )
    probabilities: list[Real] | None = Field(None, description="Of quantiles: between 0 and 1; quartiles without.")
    levels: list[_GroupLevel] | None = Field(None, description="Of a hierarchy: widths of bands, or groups of members.")
    total: Annotated[bool | str, expected("true, false or a string")] = Field(
        True, description="Whether a hierarchy has a row for all values, or its name."
    )
    leaves: bool = Field(True, description="Whether a hierarchy has a row for each value.")
    crosswalk: CrosswalkTable | None = Field(None, description="Of a hierarchy in a file: other groups of its leaves.")
    matrix: list[list[Real]] | None = Field(
        None, description="Of a custom query: for each answer a number for each value."
    )
    labels: list[str] | None = Field(None, description="The names of the rows of a custom query.")
    at_least: int | None = Field(
        None, ge=1, description="How many attributes of the kind matching a record must match."
    )

    @model_validator(mode="after")
    def _has_its_fields(self) -> "KindTable":
        foreign = sorted(self.model_fields_set - {"kind", *MAKERS[self.kind][1]})
        if foreign:
            raise refusal(f"{foreign[0]!r} does not belong to the kind {self.kind!r}")
        if self.levels is not None and self.crosswalk is not None:
            raise refusal("give levels or a crosswalk, not both")
        field, words = _REQUIRED.get(self.kind, ("kind", ""))
        if getattr(self, field) is None:
            raise refusal(words)
        return self


def _kind(value: Any) -> Any:
    """The short form of a kind written out."""
    if isinstance(value, str):
        return {"kind": value}
    if not isinstance(value, dict):
        raise unlike('expected a kind of query such as "prefix", or a table', value)
    return value


Kind = Annotated[
    KindTable,
    BeforeValidator(
        _kind,
        json_schema_input_type=Literal["identity", "prefix", "range", "sum", "mean", "quantiles", "hierarchy"]
        | KindTable,
    ),
]
Query = Annotated[
    Annotated[list[str], Tag(NAMES)] | Annotated[dict[str, Kind], Tag(KINDS)],
    Discriminator(lambda value: KINDS if isinstance(value, dict) else NAMES),
]
#: Of some attributes the labels of which a record must have one.
Where = dict[
    str,
    Annotated[
        Label | Annotated[list[Label], Field(min_length=1)],
        expected('a label, or a list of labels such as ["yes", "part-time"]'),
    ],
]
#: Cells that cannot occur: for each of some attributes a label, or several; dates are labels, too.
Cells = Annotated[
    dict[
        str,
        Annotated[
            Label | Date | Annotated[list[Label | Date], Field(min_length=1)],
            expected('a label, or several such as ["married", "widowed"]'),
        ],
    ],
    Field(min_length=1),
]


def _counts(value: Any) -> Any:
    """A count, or lists of counts, nested as deep as the query has attributes."""
    if isinstance(value, list):
        return [_counts(entry) for entry in value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise unlike("expected a number, or lists of numbers, nested as deep as there are attributes", value)
    return value


class KnownTable(SpecTable):
    """A table that is public anyway: its counts here, or in a CSV file beside the spec."""

    query: Query = Field(description="Which table, written as in [[workload]]; [] is the number of records.")
    counts: Annotated[
        Any, PlainValidator(_counts), WithJsonSchema({"type": ["number", "array"], "examples": [38045, [19000, 19045]]})
    ] = Field(None, description="A number for each cell: in a list for each attribute, one within the other.")
    file: str | None = Field(
        None, description='A CSV file beside the spec, with a column for each attribute and a column "count".'
    )

    @model_validator(mode="after")
    def _has_counts(self) -> "KnownTable":
        if (self.counts is None) == (self.file is None):
            raise refusal('give counts = [...], or file = "known.csv" beside the spec')
        return self

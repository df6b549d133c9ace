"""Queries in a spec file: their kinds, which records they are about, and tables that are known anyway."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from residualplanner.shell.cli.spec.attributes import CrosswalkTable
from residualplanner.shell.cli.spec.values import (
    LABEL_SCHEMA,
    LABELS_SCHEMA,
    Expected,
    Real,
    SpecTable,
    is_integer,
    is_label,
    is_list_of,
    is_number,
    refusal,
    unlike,
)

KindWord = Literal["identity", "prefix", "range", "sum", "mean", "quantiles", "hierarchy", "custom", "matching"]
_FIELDS = {
    "sum": {"by"},
    "mean": {"between"},
    "quantiles": {"probabilities"},
    "hierarchy": {"levels", "total", "leaves", "crosswalk"},
    "custom": {"matrix", "labels"},
    "matching": {"at_least"},
}
#: Those that a kind cannot do without, and what to write.
_REQUIRED = {
    "custom": {"matrix": "give the rows of the custom query: matrix = [[1, 1, 1], [0, 1, 2]]"},
    "matching": {"at_least": "give how many attributes of this kind must match: at_least = 1"},
}


def _is_level(value: Any) -> bool:
    """Whether a value is one level of a hierarchy: how many values a band has, or names of groups and their members."""
    return is_integer(value) or (
        isinstance(value, dict) and all(is_list_of(is_label, members) for members in value.values())
    )


GroupLevel = Annotated[
    Any,
    Expected(
        'an integer, or groups and their members such as { West = ["CA", "WA"] }',
        _is_level,
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "object", "additionalProperties": {"type": "array", "items": LABEL_SCHEMA}},
            ]
        },
    ),
]
Total = Annotated[
    bool | str,
    Expected("true, false or a string", lambda value: isinstance(value, bool | str), {"type": ["boolean", "string"]}),
]


class KindTable(SpecTable):
    """The kind of query on one attribute: a hierarchy has levels or a file, a custom query has a matrix."""

    kind: KindWord = Field(description="identity, prefix, range, sum, mean, quantiles, hierarchy, custom or matching.")
    by: Literal["bin"] | None = Field(None, description="Of a sum: bin, for one of the amounts in each bin.")
    between: list[Real] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="Of a mean: two amounts between which the means are expected, from public knowledge.",
    )
    probabilities: list[Real] | None = Field(
        None, description="Of quantiles: numbers between 0 and 1, such as [0.5]; quartiles without."
    )
    levels: list[GroupLevel] | None = Field(
        None, description="Of a hierarchy, from coarse to fine: widths of bands, or groups and their members."
    )
    total: Total = Field(True, description="Whether a hierarchy has a row for all values, or its name.")
    leaves: bool = Field(True, description="Whether a hierarchy has a row for each value.")
    crosswalk: CrosswalkTable | None = Field(
        None,
        description="Of a hierarchy whose attribute has a file: other groups of its leaves, in a file of their own.",
    )
    matrix: list[list[Real]] | None = Field(
        None, description="Of a custom query: a row for each answer, with a number for each value."
    )
    labels: list[str] | None = Field(None, description="The names of the rows of a custom query.")
    at_least: int | None = Field(
        None, ge=1, description="Of matching, how many of a query's attributes of this kind a record must match."
    )

    @model_validator(mode="after")
    def _has_its_fields(self) -> "KindTable":
        allowed = _FIELDS.get(self.kind, set())
        foreign = sorted(self.model_fields_set - allowed - {"kind"})
        if foreign:
            raise refusal(f"{foreign[0]!r} does not belong to the kind {self.kind!r}")
        if self.levels is not None and self.crosswalk is not None:
            raise refusal("give levels or a crosswalk, not both")
        for field, words in _REQUIRED.get(self.kind, {}).items():
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

#: The parts that pydantic adds to the location of a wrong value, to tell the two forms of a query apart.
NAMES, KINDS = "(names)", "(kinds)"


Query = Annotated[
    Annotated[list[str], Tag(NAMES)] | Annotated[dict[str, Kind], Tag(KINDS)],
    Discriminator(lambda value: KINDS if isinstance(value, dict) else NAMES),
]


#: Of some attributes the labels of which a record must have one.
Where = dict[
    str,
    Annotated[
        Any,
        Expected(
            'a label, or a list of labels such as ["yes", "part-time"]',
            lambda value: is_label(value) or (bool(value) and is_list_of(is_label, value)),
            LABELS_SCHEMA,
        ),
    ],
]


def _counts(value: Any) -> Any:
    """A count, or lists of counts, nested as deep as the query has attributes."""
    if isinstance(value, list):
        return [_counts(entry) for entry in value]
    if not is_number(value):
        raise unlike("expected a number, or lists of numbers, nested as deep as there are attributes", value)
    return value


def _are_labels(value: Any) -> bool:
    """Whether a value is a label, or several; dates are labels, too."""
    labels = value if isinstance(value, list) else [value]
    return bool(labels) and all(is_label(label) or isinstance(label, dt.date) for label in labels)


CountLists = Annotated[
    Any, PlainValidator(_counts), WithJsonSchema({"type": ["number", "array"], "examples": [38045, [19000, 19045]]})
]
#: Cells that cannot occur: for each of some attributes a label, or several.
Cells = Annotated[
    dict[
        str, Annotated[Any, Expected('a label, or several such as ["married", "widowed"]', _are_labels, LABELS_SCHEMA)]
    ],
    Field(min_length=1),
]


class KnownTable(SpecTable):
    """A table that is public anyway: its counts here, or in a CSV file beside the spec."""

    query: Query = Field(description="Which table, written as in [[workload]]; [] is the number of records.")
    counts: CountLists | None = Field(
        None, description="A number for each cell: in a list for each attribute, one within the other."
    )
    file: str | None = Field(
        None, description='A CSV file beside the spec, with a column for each attribute and a column "count".'
    )

    @model_validator(mode="after")
    def _has_counts(self) -> "KnownTable":
        if (self.counts is None) == (self.file is None):
            raise refusal('give counts = [...], or file = "known.csv" beside the spec')
        return self

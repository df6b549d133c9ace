"""What is known anyway, in a spec file: tables, inline or in a CSV file beside it, and cells that cannot occur.

Reads: values as TOML's parser gives them.  Gives: the same, checked one by one; `adjustments` has what they mean.
"""

import datetime as dt
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from residualplanner.shell.cli.spec.kinds import Query
from residualplanner.shell.cli.spec.values import LABEL_SCHEMA, SpecTable, is_label, is_number, refusal, unlike


def _counts(value: Any) -> Any:
    """A count, or lists of counts, nested as deep as the query has attributes."""
    if not isinstance(value, list):
        if not is_number(value):
            raise unlike("expected a number, or lists of numbers, nested as deep as there are attributes", value)
        return value
    return [_counts(entry) for entry in value]


Counts = Annotated[
    Any,
    PlainValidator(_counts),
    WithJsonSchema({"type": ["number", "array"], "examples": [38045, [19000, 19045]]}),
]


def _labels(value: Any) -> Any:
    """A label, or several."""
    labels = value if isinstance(value, list) else [value]
    if not labels or not all(is_label(label) or isinstance(label, dt.date) for label in labels):
        raise unlike('expected a label, or several such as ["married", "widowed"]', value)
    return value


#: Cells that cannot occur: for each of some attributes a label, or several.
Cells = Annotated[
    dict[
        str,
        Annotated[
            Any,
            PlainValidator(_labels),
            WithJsonSchema({"anyOf": [LABEL_SCHEMA, {"type": "array", "items": LABEL_SCHEMA, "minItems": 1}]}),
        ],
    ],
    Field(min_length=1),
]


class KnownTable(SpecTable):
    """A table that is public anyway: its counts here, or in a CSV file beside the spec."""

    query: Query = Field(description="Which table, written as in [[workload]]; [] is the number of records.")
    counts: Counts | None = Field(
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

"""Kinds of query in a spec file: prefix sums, ranges and others in place of one count per value.

Reads: values as TOML's parser gives them.  Gives: the same, checked one by one.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from residualplanner.shell.cli.spec.classifications import CrosswalkTable
from residualplanner.shell.cli.spec.values import LABEL_SCHEMA, Real, SpecTable, checked, is_label, refusal, unlike

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


def _level(value: Any) -> Any:
    """One level of a hierarchy: how many values a band has, or names of groups and their members."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    is_table = isinstance(value, dict) and all(isinstance(members, list) for members in value.values())
    if not is_table or not all(is_label(member) for members in value.values() for member in members):
        raise unlike('expected an integer, or groups and their members such as { West = ["CA", "WA"] }', value)
    return value


_LEVEL_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "object", "additionalProperties": {"type": "array", "items": LABEL_SCHEMA}},
    ]
}
GroupLevel = Annotated[Any, PlainValidator(_level), WithJsonSchema(_LEVEL_SCHEMA)]
Total = Annotated[
    bool | str,
    PlainValidator(checked(lambda value: isinstance(value, bool | str), "expected true, false or a string")),
    WithJsonSchema({"type": ["boolean", "string"]}),
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


def _selected(value: Any) -> Any:
    """The label of a value, or labels of several."""
    if is_label(value) or (isinstance(value, list) and value and all(map(is_label, value))):
        return value
    raise unlike('expected a label, or a list of labels such as ["yes", "part-time"]', value)


_SELECTED_SCHEMA = {"anyOf": [LABEL_SCHEMA, {"type": "array", "minItems": 1, "items": LABEL_SCHEMA}]}
#: Of some attributes the labels of which a record must have one.
Where = dict[str, Annotated[Any, PlainValidator(_selected), WithJsonSchema(_SELECTED_SCHEMA)]]

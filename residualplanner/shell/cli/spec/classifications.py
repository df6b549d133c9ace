"""Classifications in a spec file: in CSV files beside it, as geographies are, and crosswalks between two of them.

Reads: values as TOML's parser gives them.  Gives: the same, checked one by one; `hierarchies` has what they mean.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from residualplanner.shell.cli.spec.values import SpecTable, unlike


def _length(value: Any) -> Any:
    is_length = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_length and value != "any":
        raise unlike('expected a number of characters, or "any" where codes differ in length', value)
    return value


#: By level, or by column of a crosswalk, how many characters its codes have.
CodeLengths = dict[
    str,
    Annotated[
        int | Literal["any"],
        PlainValidator(_length),
        WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "any"}]}),
    ],
]


def _columns(value: Any) -> Any:
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(name, str) for name in value)
    if not is_pair and not isinstance(value, str):
        raise unlike(
            'expected a column of codes, or a pair of the columns of codes and names as ["GEOID", "NAME"]', value
        )
    return value


_COLUMNS_SCHEMA = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}]
}


def _levels(value: Any) -> Any:
    """Names of levels, or a table of the columns of each."""
    is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not value or not (is_list or isinstance(value, dict)):
        raise unlike(
            'expected levels from coarse to fine such as ["state", "county"], or a table with the columns of each',
            value,
        )
    return {name: _columns(columns) for name, columns in value.items()} if isinstance(value, dict) else value


_LEVELS_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
        {"type": "object", "additionalProperties": _COLUMNS_SCHEMA, "minProperties": 1},
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


def lengths_of(declared: dict[str, Any]) -> dict[str, int | None]:
    """The lengths of codes as `Hierarchy.from_file` has them: None where they differ."""
    return {name: None if length == "any" else length for name, length in declared.items()}

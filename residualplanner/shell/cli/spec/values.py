"""The values in a spec file: which are accepted, and the message for any other.

Reads: values as TOML's parser gives them.  Gives: the same, or the library's own nouns.
"""

import datetime as dt
import reprlib
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from residualplanner.method.domain.labels import Into, Label
from residualplanner.method.losses import MaxVariance, SumOfVariances


class SpecTable(BaseModel):
    """A TOML table: no fields but these, no values converted from one type to another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def refusal(message: str) -> PydanticCustomError:
    """The error that becomes this message, after where in the file it is."""
    return PydanticCustomError("expected", "{message}", {"message": message})


class _AsInToml(reprlib.Repr):
    """Values cut where they are long; dates and truth values are written as in TOML."""

    def repr_bool(self, value: bool, _level: int) -> str:
        return str(value).lower()

    def repr_date(self, value: dt.date | dt.time, _level: int) -> str:
        return value.isoformat()

    repr_datetime = repr_time = repr_date


#: A value as a message shows it.
shown = _AsInToml().repr


def unlike(expected: str, value: object) -> PydanticCustomError:
    """The refusal of a value that is not what was expected."""
    return refusal(f"{expected}, got {shown(value)}")


def checked(is_right: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    """A validator that accepts what is right, unchanged, and otherwise says what was expected."""

    def check(value: Any) -> Any:
        if not is_right(value):
            raise unlike(expected, value)
        return value

    return check


def is_label(value: object) -> bool:
    """Whether a value can be a label."""
    return isinstance(value, str | int | bool)


def is_number(value: object) -> bool:
    """Whether a value is an integer or a floating-point number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


LABEL_SCHEMA = {"type": ["string", "integer", "boolean"]}
_DATE_SCHEMA = {"type": "string", "format": "date"}
_NUMBER_SCHEMA = {"type": ["string", "number"]}


def _declared_label(value: Any) -> Any:
    """A label, or a pair of a label and its meaning; dates are labels too."""
    is_pair = isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)
    label = value[0] if is_pair else value
    if not is_label(label) and not isinstance(label, dt.date):
        raise unlike(
            'expected a string, an integer, true, false or a date, or a pair of one and its meaning, as [1, "female"]',
            value,
        )
    return value


DeclaredLabel = Annotated[
    Any,
    PlainValidator(_declared_label),
    WithJsonSchema(
        {
            "anyOf": [
                LABEL_SCHEMA,
                {
                    "type": "array",
                    "prefixItems": [LABEL_SCHEMA, {"type": "string"}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            ]
        }
    ),
]
Edge = Annotated[
    Any,
    PlainValidator(
        checked(
            lambda value: is_number(value) or isinstance(value, dt.date), "expected a number or a date without quotes"
        )
    ),
    WithJsonSchema({"anyOf": [{"type": "number"}, _DATE_SCHEMA]}),
]
Month = Annotated[
    Any,
    PlainValidator(
        checked(lambda value: isinstance(value, str | dt.date), 'expected a month in quotes such as "2020-12"')
    ),
    WithJsonSchema({"type": "string", "examples": ["2020-12"]}),
]
Exact = Annotated[
    str | int | float,
    PlainValidator(
        checked(
            lambda value: isinstance(value, str) or is_number(value),
            'expected a number, or a number in quotes such as "0.5"',
        )
    ),
    WithJsonSchema(_NUMBER_SCHEMA | {"examples": ["0.5"]}),
]


def _numeric_bins(value: Any) -> Any:
    """How many bins, or their edges."""
    is_list = isinstance(value, list) and all(isinstance(edge, str) or is_number(edge) for edge in value)
    if not is_list and (isinstance(value, bool) or not isinstance(value, int)):
        raise unlike("expected a number of bins, or a list of their edges such as [20, 50]", value)
    return value


NumericBins = Annotated[
    int | list[str | int | float],
    PlainValidator(_numeric_bins),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "array", "items": _NUMBER_SCHEMA}]}),
]
TextOrDate = Annotated[
    str | dt.date,
    PlainValidator(checked(lambda value: isinstance(value, str | dt.date), "expected a date, or a string in quotes")),
    WithJsonSchema({"anyOf": [{"type": "string"}, _DATE_SCHEMA]}),
]
Real = Annotated[
    float, PlainValidator(checked(is_number, "expected a number without quotes")), WithJsonSchema({"type": "number"})
]
BetweenZeroAndOne = Annotated[
    float,
    PlainValidator(checked(lambda value: is_number(value) and 0 < value < 1, "expected a number between 0 and 1")),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
]


def _rule(value: Any) -> Any:
    """How a record is treated; ``{ into = label }`` is for labels that are called "error" or "drop"."""
    if isinstance(value, dict) and set(value) == {"into"} and is_label(value["into"]):
        return Into(value["into"])
    return checked(is_label, 'expected "error", "drop" or a label')(value)


Rule = Annotated[
    Label | Into,
    PlainValidator(_rule),
    WithJsonSchema({"anyOf": [{"enum": ["error", "drop"]}, LABEL_SCHEMA, {"type": "object", "required": ["into"]}]}),
]


def _loss(value: Any) -> SumOfVariances | MaxVariance:
    """A loss by its name, or a sum with other weights than the number of cells."""
    if isinstance(value, str) and value in ("sum", "max"):
        return SumOfVariances() if value == "sum" else MaxVariance()
    if isinstance(value, dict) and set(value) == {"sum"} and value["sum"] in _WEIGHTS:
        return SumOfVariances(value["sum"])
    raise unlike('expected "sum", "max" or { sum = "equal" } (or "cells" or "sqrt")', value)


_WEIGHTS = ["cells", "equal", "sqrt"]
_SUM_SCHEMA = {
    "type": "object",
    "properties": {"sum": {"enum": _WEIGHTS}},
    "required": ["sum"],
    "additionalProperties": False,
}
Loss = Annotated[
    SumOfVariances | MaxVariance,
    PlainValidator(_loss),
    WithJsonSchema({"anyOf": [{"enum": ["sum", "max"]}, _SUM_SCHEMA]}),
]

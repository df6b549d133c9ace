"""The values in a spec file: which are accepted, and the message for any other."""

import datetime as dt
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

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


@dataclass(frozen=True, eq=False, slots=True)
class Expected:
    """Accepts what is right, unchanged; of anything else it says what was expected.

    Attributes:
        words: what is expected.
        is_right: whether a value, as TOML's parser gives it, is that.
        schema: the same as JSON Schema, for editors.
    """

    words: str
    is_right: Callable[[Any], bool]
    schema: dict[str, Any]

    def checked(self, value: Any) -> Any:
        """The value; pydantic's refusal where it is not right."""
        if not self.is_right(value):
            raise unlike(f"expected {self.words}", value)
        return value

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.checked)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: Any) -> dict[str, Any]:
        return dict(self.schema)


def is_label(value: object) -> bool:
    """Whether a value can be a label."""
    return isinstance(value, str | int | bool)


def is_number(value: object) -> bool:
    """Whether a value is an integer or a floating-point number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> bool:
    """Whether a value is an integer, not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_list_of(is_right: Callable[[Any], bool], value: object) -> bool:
    """Whether a value is a list of such entries."""
    return isinstance(value, list) and all(map(is_right, value))


def is_text(value: object) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


def _is_declared(value: Any) -> bool:
    """Whether a value is a label, or a pair of a label and its meaning; dates are labels too."""
    is_pair = isinstance(value, list) and len(value) == 2 and is_text(value[1])
    label = value[0] if is_pair else value
    return is_label(label) or isinstance(label, dt.date)


LABEL_SCHEMA: dict[str, Any] = {"type": ["string", "integer", "boolean"]}
LABELS_SCHEMA = {"anyOf": [LABEL_SCHEMA, {"type": "array", "minItems": 1, "items": LABEL_SCHEMA}]}
_PAIR_SCHEMA = {"type": "array", "prefixItems": [LABEL_SCHEMA, {"type": "string"}], "minItems": 2, "maxItems": 2}
_DATE_SCHEMA = {"type": "string", "format": "date"}
_NUMBER_SCHEMA = {"type": ["string", "number"]}

DeclaredLabel = Annotated[
    Any,
    Expected(
        'a string, an integer, true, false or a date, or a pair of one and its meaning, as [1, "female"]',
        _is_declared,
        {"anyOf": [LABEL_SCHEMA, _PAIR_SCHEMA]},
    ),
]
Edge = Annotated[
    Any,
    Expected(
        "a number or a date without quotes",
        lambda value: is_number(value) or isinstance(value, dt.date),
        {"anyOf": [{"type": "number"}, _DATE_SCHEMA]},
    ),
]
Month = Annotated[
    Any,
    Expected(
        'a month in quotes such as "2020-12"',
        lambda value: isinstance(value, str | dt.date),
        {"type": "string", "examples": ["2020-12"]},
    ),
]
Exact = Annotated[
    str | int | float,
    Expected(
        'a number, or a number in quotes such as "0.5"',
        lambda value: is_text(value) or is_number(value),
        _NUMBER_SCHEMA | {"examples": ["0.5"]},
    ),
]
NumericBins = Annotated[
    int | list[str | int | float],
    Expected(
        "a number of bins, or a list of their edges such as [20, 50]",
        lambda value: is_integer(value) or is_list_of(lambda edge: is_text(edge) or is_number(edge), value),
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": _NUMBER_SCHEMA}]},
    ),
]
TextOrDate = Annotated[
    str | dt.date,
    Expected(
        "a date, or a string in quotes",
        lambda value: isinstance(value, str | dt.date),
        {"anyOf": [{"type": "string"}, _DATE_SCHEMA]},
    ),
]
Real = Annotated[float, Expected("a number without quotes", is_number, {"type": "number"})]
BetweenZeroAndOne = Annotated[
    float,
    Expected(
        "a number between 0 and 1",
        lambda value: is_number(value) and 0 < value < 1,
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    ),
]


def _rule(value: Any) -> Any:
    """How a record is treated; ``{ into = label }`` is for labels that are called "error" or "drop"."""
    if isinstance(value, dict) and set(value) == {"into"} and is_label(value["into"]):
        return Into(value["into"])
    if not is_label(value):
        raise unlike('expected "error", "drop" or a label', value)
    return value


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

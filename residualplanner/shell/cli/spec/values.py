"""The values in a spec file: which are accepted, and the message for any other."""

import datetime as dt
import re
import reprlib
from contextlib import suppress
from typing import Annotated, Any

import pydantic
from pydantic import Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.labels import Into
from residualplanner.method.losses import MaxVariance, SumOfVariances
from residualplanner.method.privacy import Budget, approx_dp, gdp, pcost, require_discrete, zcdp
from residualplanner.shell.cli.budgets import budget_of_text, table_text

_MOST_MESSAGES = 20
_EXPECTED = {
    "int_type": "expected an integer without quotes",
    "int_from_float": "expected an integer",
    "float_type": "expected a number without quotes",
    "string_type": "expected a string in quotes",
    "bool_type": "expected true or false",
    "list_type": "expected a list in [brackets]",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "expected a table"),
    "too_short": "the list is too short",
    "too_long": "the list is too long",
    "literal_error": "expected {expected}",
    "greater_than_equal": "expected a number that is at least {ge}",
    "less_than_equal": "expected a number that is at most {le}",
}
#: Names that others have for tables of a spec.
_ELSEWHERE = {"schema": "[domain]", "columns": "[domain]", "tables": "[[workload]]", "queries": "[[workload]]"}
#: What tables look like that are often taken for something else.
_TABLES = {
    "numeric": "{ low = 0, high = 100000 }",
    "maps": '{ county = { geojson = "counties.json", code = "GEOID" } }',
}
#: Where the fields of a table stand, by the name of its class.
_PLACES = {
    "SpecFile": "at the head of the file, before [domain] and all other tables",
    "QueriesTable": "below [[workload]]",
    "TargetTable": "below [[targets]]",
    "OutputTable": "below [output]",
    "AttributeTable": "to a column of [domain]",
    "KindTable": "to a kind of query",
    "KnownTable": "inside known = [{ ... }] of [output]",
    "ComparisonTable": "inside comparisons = [{ ... }] of [output]",
    "ComparedWith": "inside to = { ... } of a comparison",
    "MapTable": "inside maps = { county = { ... } } of [output]",
}
for _name in ("numeric", "weight", "people", "ledger", "crosswalk", "quality", "publication"):
    _PLACES[f"{_name.capitalize()}Table"] = f"inside {_name} = {{ ... }}"
_SHARES = "proportions"
_FOR_SHARES = ("proportion", "share", "shares", "percent", "percentage", "percentages")
_MEANT = {
    **dict.fromkeys(_FOR_SHARES, repr(_SHARES)),
    **dict.fromkeys(("median", "medians"), '{ kind = "quantiles", probabilities = [0.5] }'),
    **dict.fromkeys(("percentile", "percentiles", "quartiles"), "'quantiles'"),
    "average": "'mean'",
}
#: What gives statistics other than counts, where a field of their own was tried.
_STATISTICS = ("statistics", "statistic", "mean", "means", "quantiles", "median", "medians", *_FOR_SHARES, _SHARES)
_BY_KIND = (
    'statistics are kinds of query: write, in a query of [[workload]], age = "mean", "quantiles", "standard deviation" '
    'or "moments" of a column with amounts, and vote = "proportions" for shares'
)
_MISSING = {
    ("domain",): 'the table [domain] is missing; it names each column and its values, such as sex = ["F", "M"]',
    ("workload",): "a table [[workload]] is missing; it names the tables to publish, such as up_to = 2",
}
#: The parts that pydantic adds to the location of a wrong value: the names of the two forms of a query, and of types.
NAMES, KINDS = "(names)", "(kinds)"
_BRANCH = re.compile(r"Table$|^literal\[|^\((names|kinds)\)$")


class SpecTable(pydantic.BaseModel):
    """A TOML table: no fields but these, no values converted from one type to another."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True)


def refusal(message: str) -> PydanticCustomError:
    """The error that becomes this message, after where in the file it is."""
    return PydanticCustomError("expected", "{message}", {"message": message})


def unlike(expected: str, value: object) -> PydanticCustomError:
    """The refusal of a value that is not what was expected."""
    return refusal(f"{expected}, got {reprlib.repr(value)}")


def expected(words: str) -> pydantic.WrapValidator:
    """Says in these words what is expected, in place of all that pydantic says of a value that its type refuses."""

    def checked(value: Any, handler: pydantic.ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise unlike(f"expected {words}", value) from None

    return pydantic.WrapValidator(checked)


Label = bool | int | str
Date = dt.date | dt.datetime
_Number = int | float
_Pair = Annotated[tuple[Label | Date, str], Field(strict=False)]  # TOML has lists alone

DeclaredLabel = Annotated[
    Label | Date | _Pair,
    expected('a string, an integer, true, false or a date, or a pair of one and its meaning, as [1, "female"]'),
]
Edge = Annotated[_Number | Date, expected("a number or a date without quotes")]
Month = Annotated[str | Date, expected('a month in quotes such as "2020-12"')]
Exact = Annotated[str | _Number, expected('a number, or a number in quotes such as "0.5"')]
NumericBins = Annotated[
    int | list[str | _Number], expected("a number of bins, or a list of their edges such as [20, 50]")
]
TextOrDate = Annotated[str | Date, expected("a date, or a string in quotes")]
Real = Annotated[_Number, expected("a number without quotes")]
BetweenZeroAndOne = Annotated[float, Field(gt=0, lt=1), expected("a number between 0 and 1")]


def _rule(value: Any) -> Any:
    """How a record is treated; ``{ into = label }`` is for labels that are called "error" or "drop"."""
    if isinstance(value, dict) and set(value) == {"into"} and isinstance(value["into"], Label):
        return Into(value["into"])
    if not isinstance(value, Label):
        raise unlike('expected "error", "drop" or a label', value)
    return value


Rule = Annotated[Label | Into, PlainValidator(_rule)]


def _loss(value: Any) -> SumOfVariances | MaxVariance:
    if isinstance(value, str) and value in ("sum", "max"):
        return SumOfVariances() if value == "sum" else MaxVariance()
    if isinstance(value, dict) and set(value) == {"sum"} and value["sum"] in ["cells", "equal", "sqrt"]:
        return SumOfVariances(value["sum"])
    raise unlike('expected "sum", "max" or { sum = "equal" } (or "cells" or "sqrt")', value)


Loss = Annotated[SumOfVariances | MaxVariance, PlainValidator(_loss)]
_FORMS = 'one of { zcdp = "0.5" }, { pcost = "1" } and { approx_dp = { epsilon = "1", delta = "1e-9" } }'


def _budget(value: Any) -> Budget:
    """A budget by the name of its notion; refused where it does not hold for the discrete noise that is drawn."""
    makers: dict[str, Any] = {"zcdp": zcdp, "pcost": pcost, "gdp": gdp}
    found: Budget | None = None
    match value:
        case {"approx_dp": {"epsilon": epsilon, "delta": delta, **rest}, **others} if not rest and not others:
            found = approx_dp(epsilon, delta)
        case {**named} if len(named) == 1 and set(named) <= set(makers):
            found = makers[str(*named)](*named.values())
        case str():
            with suppress(BudgetError):
                table = table_text(budget_of_text(value))
                raise refusal(f"a budget is a string in options only; in a spec write it as the table {table}")
    if found is None:
        raise unlike(f"expected {_FORMS}", value)
    require_discrete(found, spelled=table_text)
    return found


SpecBudget = Annotated[Budget, PlainValidator(_budget)]


def messages_of(error: ValidationError) -> list[str]:
    """One line for each error: where in the file, what was expected, what was found."""
    details = error.errors(include_url=False, include_context=True)
    # Two forms of a value may fail in the same words, once the names of the forms are left out.
    messages = list(dict.fromkeys(_message(dict(detail)) for detail in details))
    return (
        messages
        if len(messages) <= _MOST_MESSAGES
        else [*messages[:_MOST_MESSAGES], f"and {len(messages) - _MOST_MESSAGES} more"]
    )


def _message(detail: dict[str, Any]) -> str:
    kind, where, found = detail["type"], detail["loc"], detail["input"]
    if kind == "missing":
        return _MISSING.get(where, f"{_at(where[:-1])}{where[-1]!r} is missing")
    if kind == "extra_forbidden":
        return f"{_at(where[:-1])}unknown field {where[-1]!r}; {_remedy(where)}"
    if kind == "list_type" and len(where) == 1 and isinstance(found, dict):
        return f"[{where[0]}] is written in double brackets, [[{where[0]}]], once for each entry"
    if kind == "expected":
        return f"{_at(where)}{detail['msg']}"
    if kind == "value_error":  # of a noun of the library, in its own words
        return f"{_at(where)}{detail['ctx']['error']}"
    words = _EXPECTED[kind].format(**detail.get("ctx", {})) if kind in _EXPECTED else detail["msg"]
    if words == "expected a table":
        name = "maps" if where[:2] == ("output", "maps") else where[-1]
        words += f" such as {name} = {_TABLES[name]}" if name in _TABLES else ""
    close = _close_to(found, detail["ctx"]["expected"]) if kind == "literal_error" else ""
    return f"{_at(where)}{words}, got {reprlib.repr(found)}{close}"


def _remedy(where: tuple[str | int, ...]) -> str:
    """What to do about an unknown field: where it belongs, or the field that is likely meant."""
    name, tables = where[-1], SpecTable.__subclasses__()
    if len(where) == 1 and name in _ELSEWHERE:
        return f"write {_ELSEWHERE[str(name)]}"
    if name in _STATISTICS and where[:-1] in ((), ("output",)):
        return _BY_KIND
    if places := [_PLACES[each.__name__] for each in tables if name in each.model_fields]:
        return f"it belongs {' or '.join(places)}"
    close = suggestion(name, sorted({field for each in tables for field in each.model_fields}))
    return close.removeprefix("; ") or "docs/files.md in the manual lists those of every table"


def _close_to(found: object, expected: str) -> str:
    """The end of a message that suggests which of the words that were expected is meant; else nothing."""
    words = re.findall("'([^']*)'", expected)
    return suggestion(found, {word: repr(word) for word in words} | (_MEANT if _SHARES in words else {}))


def _at(where: tuple[str | int, ...]) -> str:
    match where:
        case ("workload" | "targets" as table, int(number), *rest):
            parts = [f"[[{table}]] number {number + 1}"]
        case ("output", name, int(number), *rest):
            parts = [f"[[output.{name}]] number {number + 1}"]
        case ("domain" | "output" as table, *rest) if all(isinstance(each, str) for each in rest[:1]):
            parts, rest = [" ".join([f"[{table}]", *map(str, rest[:1])])], rest[1:]
        case _:
            parts, rest = [], list(where)
    own = (part for part in rest if isinstance(part, int) or not _BRANCH.search(part))
    parts += [f"entry {part + 1}" if isinstance(part, int) else part for part in own]
    return f"{', '.join(parts)}: " if parts else ""

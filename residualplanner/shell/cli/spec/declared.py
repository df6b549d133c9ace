"""Columns as a dictionary declares them, and their entries, as TOML, in a spec to start from."""

import datetime as dt
import itertools
import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.labels import Into, Label
from residualplanner.shell.cli.spec.tables import UNDECLARED

#: The most values of a column that is declared by a smallest and a largest integer.
RANGE_LIMIT = 1000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MONTH, _YEAR = re.compile("[0-9]{4}-[0-9]{2}"), re.compile("[0-9]{4}")
_TRUTH = {"true": True, "false": False}
#: The types of columns, as dictionaries call them.
_WHOLE_TYPE = re.compile(
    "int(eger)?[0-9]*|whole|code|count|ordinal|long|short|byte|(nonNegative|positive)Integer|gYear|year"
)
_NUMBER_TYPE = re.compile(r"num(ber|eric)?|float[0-9]*|double|real|decimal|continuous")
_TRUTH_TYPE = re.compile(r"bool(ean)?|logical", re.IGNORECASE)
_DATE_TYPE = re.compile(r"date(-?time)?|timestamp", re.IGNORECASE)
_WIDTH = 112
_WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_NOTHING = About()


@dataclass(frozen=True, slots=True)
class Declared:
    """One column, as far as it is declared."""

    name: str
    attribute: Attribute | None  # None where its values are still to be declared
    note: str = ""  # what is known in place of values
    about: About = _NOTHING

    def lines(self) -> list[str]:
        """The column's entry in a spec, below a comment with the note."""
        if self.attribute is None:
            words = ", ".join(f"{word} = {toml_text(text)}" for word, text in self.about.to_json().items())
            notes = [*_comment(words), *_comment(self.note)]
            return [*notes, f'{key_text(self.name)} = "{UNDECLARED}"']
        return [*_comment(self.note), f"{key_text(self.name)} = {attribute_text(self.attribute)}"]

    def described(self, about: About) -> "Declared":
        """The same column with these words about it."""
        if not about:
            return self
        attribute = None if self.attribute is None else self.attribute.described(about)
        return replace(self, attribute=attribute, about=about)


def of_type(name: str, kind: str, low: str, high: str) -> Declared:
    """A column of a type, between two limits where these are given."""
    if _TRUTH_TYPE.fullmatch(kind):
        return of_values(name, [True, False])
    if _DATE_TYPE.fullmatch(kind):
        forms = '{ months = ["2020-01", "2020-12"] }, { years = [2019, 2021] } or { bins = [...] }'
        return Declared(name, None, f"dates{_limits_text(low, high)}: write bins such as {forms}")
    smallest, largest = map(_limit, (low, high))
    is_number, is_whole = _NUMBER_TYPE.fullmatch(kind), _WHOLE_TYPE.fullmatch(kind)
    if is_number or is_whole or (smallest, largest) != (None, None):
        has_whole = all(limit is None or limit.is_integer() for limit in (smallest, largest))
        return of_range(name, smallest, largest, is_whole=bool(is_whole or (has_whole and not is_number)))
    return Declared(name, None, f"{kind}: its values are not in the dictionary" if kind else "")


def _limit(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    return None


def of_values(name: str, values: Sequence[Label], meanings: Sequence[str] = ()) -> Declared:
    """A column whose values are listed.

    If all values are integers in their usual spelling, they are integers, and 0, 1, .. are codes; "true" and "false"
    are booleans; all others are strings, as which the values in CSV files are matched.  Meanings stand beside values.
    """
    meaning_of = dict.fromkeys(values, "") | dict(zip(values, meanings, strict=False))
    labels = _labels(list(meaning_of))
    in_words = ["" if meaning == str(value) else meaning for value, meaning in meaning_of.items()]
    if any(in_words):
        return Declared(name, Attribute(name, labels=labels_of_pairs(name, zip(labels, in_words, strict=True))))
    is_code = labels == list(range(len(labels))) and not any(isinstance(label, bool) for label in labels)
    return Declared(name, Attribute(name, len(labels)) if is_code else Attribute(name, labels=labels))


def labels_of_pairs(name: str, pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    """The meaning of each label; DomainError where a label is there twice, also as ``True`` and ``1``."""
    listed = list(pairs)
    if len({(type(label), label) for label, _ in listed}) < len(listed):
        raise DomainError(f"attribute {name!r} has a label twice", attributes=[name])
    return dict(listed)


def of_range(name: str, smallest: float | None, largest: float | None, *, is_whole: bool) -> Declared:
    """A column of numbers between two limits: their values if they are few integers, else bins by hand."""
    kind = "integers" if is_whole else "numbers"
    if smallest is None or largest is None:
        return Declared(
            name,
            None,
            f"{kind}{_limits_text(smallest, largest)}: write {{ bins = [...] }}, or a number of codes 0, 1, ..",
        )
    if is_whole and 0 <= largest - smallest < RANGE_LIMIT:
        first, last = math.ceil(smallest), math.floor(largest)
        attribute = Attribute(name, last + 1) if first == 0 else Attribute(name, labels=range(first, last + 1))
        return Declared(name, attribute)
    low, high = number_text(smallest), number_text(largest)
    return Declared(name, None, f"{kind} from {low} to {high}: write {{ bins = [{low}, ..., {high}] }}")


def _limits_text(smallest: object, largest: object) -> str:
    both = (("from", smallest), ("to", largest))
    texts = ((word, number_text(limit) if isinstance(limit, float) else limit) for word, limit in both)
    return "".join(f" {word} {limit}" for word, limit in texts if limit not in (None, ""))


def _labels(values: list[Label]) -> list[Label]:
    """The values as strings, integers or booleans, whichever they all are."""
    strings = [str(value) for value in values]
    if all(isinstance(value, bool) for value in values) or {string.lower() for string in strings} == set(_TRUTH):
        return [_TRUTH[string.lower()] for string in strings]
    if all(isinstance(value, int) or _INTEGER.fullmatch(value) for value in values):
        return [int(value) for value in values]
    return list(strings)


def _comment(note: str) -> list[str]:
    """A note as lines of a comment, without characters that would end one."""
    words = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", note).split())
    return textwrap.wrap(words, _WIDTH, initial_indent="# ", subsequent_indent="# ", **_WHOLE_WORDS)


def key_text(name: str) -> str:
    """A name as the key of a TOML entry, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else string_text(name)


def string_text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(value: Any) -> str:
    """A value as TOML, with exact numbers in quotes."""
    match value:
        case bool():
            return str(value).lower()
        case str() | Fraction():
            return string_text(str(value))
        case float():
            return number_text(value)
        case int() | dt.date():
            return str(value)
        case Mapping():
            return "{ " + ", ".join(f"{key_text(name)} = {toml_text(each)}" for name, each in value.items()) + " }"
    return _list(list(map(toml_text, value)))


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute's entry in a spec, in the shortest form."""
    fields = _value_fields(attribute)
    for word, rule in (("unknown", attribute.unknown), ("missing", attribute.missing)):
        if isinstance(rule, Into):
            fields[word] = {"into": rule.label} if rule.label in ("error", "drop") else rule.label
        elif rule != "error":
            fields[word] = rule
    if set(fields) in ({"size"}, {"labels"}) and not attribute.about:
        return toml_text(next(iter(fields.values())))
    return toml_text(fields | attribute.about.to_json())


def _value_fields(attribute: Attribute) -> dict[str, Any]:
    """The entries that say which values there are."""
    if attribute.bins is not None:
        return _period(attribute.bins) or {"bins": attribute.bins.edges, "labels": attribute.bins.labels}
    if attribute.numeric is not None:
        numeric = attribute.numeric
        low, *inner, high = (edge * numeric.unit for edge in numeric.edges)
        limits = {"low": low, "high": high, "unit": numeric.unit, "bins": inner}
        return {"numeric": limits | {"outside": numeric.outside, "between_units": numeric.between_units}}
    if attribute.labels is None:
        return {"size": len(attribute.values)}
    labels: list[Any] = list(attribute.labels)
    if attribute.matching == "date":
        labels = [dt.date.fromisoformat(str(label)) for label in labels]
    meanings = attribute.meanings or [""] * len(labels)
    return {"labels": [[label, words] if words else label for label, words in zip(labels, meanings, strict=True)]}


def _period(bins: Bins) -> dict[str, Any] | None:
    """The entry for bins of months or years, from the first to the last; None for others."""
    first, last = bins.labels[0], bins.labels[-1]
    with suppress(DomainError):
        if _MONTH.fullmatch(first) and bins == Bins.months(first, last):
            return {"months": [first, last]}
    with suppress(DomainError, ValueError):
        if _YEAR.fullmatch(first) and bins == Bins.years(int(first), int(last)):
            return {"years": [int(first), int(last)]}
    return None


def number_text(number: float) -> str:
    """A number as TOML, in the fewest digits that tell it from all others."""
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return str(int(number)) if float(number).is_integer() and abs(number) < 2**53 else repr(float(number))


def _list(items: list[str]) -> str:
    """A list on one line, or on several of about 100 letters where it is long."""
    line = f"[{', '.join(items)}]"
    if len(line) <= 100:
        return line
    ends = itertools.accumulate(len(item) + 2 for item in items)
    grouped = itertools.groupby(zip(items, ends, strict=True), key=lambda pair: pair[1] // 100)
    rows = (", ".join(item for item, _ in group) for _, group in grouped)
    return "[\n    " + ",\n    ".join(rows) + ",\n]"

"""Columns as a dictionary or a public schema declares them, and their entries, as TOML, in a spec to start from."""

import datetime as dt
import itertools
import json
import math
import re
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.entries import day_of
from residualplanner.method.domain.labels import Into, Label
from residualplanner.more.amounts.numeric import Numeric
from residualplanner.more.amounts.weight import Weight
from residualplanner.shell.cli.spec.tables import UNDECLARED

#: The most values of a column that is declared by a smallest and a largest integer.
RANGE_LIMIT = 1000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MONTH, _YEAR = re.compile("[0-9]{4}-[0-9]{2}"), re.compile("[0-9]{4}")
_TRUTH = {"true": True, "false": False}
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
            notes = [*_comment(", ".join(_about_entries(self.about))), *_comment(self.note)]
            return [*notes, f'{key_text(self.name)} = "{UNDECLARED}"']
        return [*_comment(self.note), f"{key_text(self.name)} = {attribute_text(self.attribute)}"]

    def described(self, about: About) -> "Declared":
        """The same column with these words about it."""
        if not about:
            return self
        attribute = None if self.attribute is None else self.attribute.described(about)
        return replace(self, attribute=attribute, about=about)


def of_values(name: str, values: Sequence[Label], meanings: Sequence[str] = ()) -> Declared:
    """A column whose values are listed.

    If all values are integers in their usual spelling, they are integers, and 0, 1, .. are codes; "true" and "false"
    are booleans; all others are strings, as which the values in CSV files are matched.  Meanings stand beside values.

    Example:
        >>> of_values("sex", ["F", "M"]).attribute
        Attribute('sex', labels=['F', 'M'])
        >>> of_values("sex", ["1", "2"], ["female", "male"]).attribute
        Attribute('sex', labels={1: 'female', 2: 'male'})
        >>> of_values("grade", ["0", "1", "2"]).attribute, of_values("region", ["01", "2"]).attribute
        (Attribute('grade', size=3), Attribute('region', labels=['01', '2']))
    """
    meaning_of = dict.fromkeys(values, "") | dict(zip(values, meanings, strict=False))
    labels = _labels(list(meaning_of))
    in_words = ["" if meaning == str(value) else meaning for value, meaning in meaning_of.items()]
    if any(in_words):
        mapping = dict(zip(labels, in_words, strict=True))
        if len(mapping) < len(labels):  # two values are one label, as "true" and "True"
            raise DomainError(f"attribute {name!r} has a label twice", attributes=[name])
        return Declared(name, Attribute(name, labels=mapping))
    is_code = labels == list(range(len(labels))) and not any(isinstance(label, bool) for label in labels)
    return Declared(name, Attribute(name, len(labels)) if is_code else Attribute(name, labels=labels))


def of_range(name: str, smallest: float | None, largest: float | None, *, is_whole: bool) -> Declared:
    """A column of numbers between two limits: their values if they are few integers, else bins by hand.

    Example:
        >>> of_range("age", 0, 99, is_whole=True).attribute
        Attribute('age', size=100)
        >>> of_range("income", 0, 1e6, is_whole=False).note
        'numbers from 0 to 1000000: write { bins = [0, ..., 1000000] }'
    """
    kind = "integers" if is_whole else "numbers"
    if smallest is None or largest is None:
        both = (("from", smallest), ("to", largest))
        limits = "".join(f" {word} {number_text(limit)}" for word, limit in both if limit is not None)
        return Declared(name, None, f"{kind}{limits}: write {{ bins = [...] }}, or a number of codes 0, 1, ..")
    if is_whole and 0 <= largest - smallest < RANGE_LIMIT:
        first, last = math.ceil(smallest), math.floor(largest)
        attribute = Attribute(name, last + 1) if first == 0 else Attribute(name, labels=range(first, last + 1))
        return Declared(name, attribute)
    low, high = number_text(smallest), number_text(largest)
    return Declared(name, None, f"{kind} from {low} to {high}: write {{ bins = [{low}, ..., {high}] }}")


def of_dates(name: str, smallest: object, largest: object) -> Declared:
    """A column of dates, whose bins are to be declared by hand, with its limits as far as they are known.

    Example:
        >>> of_dates("born", "2019-11-30", None).note
        'dates from 2019-11-30: write { months = ["2019-11", "..."] }, { years = [2019, ...] } or { bins = [...] }'
    """
    both = (("from", smallest), ("to", largest))
    limits = "".join(f" {word} {limit}" for word, limit in both if limit is not None)
    days = [str(limit) if limit is not None and day_of(str(limit)) is not None else "" for limit in (smallest, largest)]
    months = ", ".join(f'"{day[:7] or "..."}"' for day in days)
    years = ", ".join(day[:4] or "..." for day in days)
    return Declared(
        name, None, f"dates{limits}: write {{ months = [{months}] }}, {{ years = [{years}] }} or {{ bins = [...] }}"
    )


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


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute's entry in a spec, in the shortest form."""
    fields = _value_fields(attribute)
    for word, rule in (("unknown", attribute.unknown), ("missing", attribute.missing)):
        if isinstance(rule, Into):
            is_word = rule.label in ("error", "drop")
            fields[word] = f"{{ into = {_label(rule.label)} }}" if is_word else _label(rule.label)
        elif rule != "error":
            fields[word] = string_text(rule)
    if set(fields) in ({"size"}, {"labels"}) and not attribute.about:
        return next(iter(fields.values()))
    entries = [f"{word} = {value}" for word, value in fields.items()]
    return "{ " + ", ".join([*entries, *_about_entries(attribute.about)]) + " }"


def weight_text(weight: Weight) -> str:
    """The inline table of a weight, with exact numbers."""
    numbers = f"maximum = {string_text(str(weight.maximum))}, unit = {string_text(str(weight.unit))}"
    return f"{{ column = {string_text(weight.name)}, {numbers}, above = {string_text(weight.above)} }}"


def _about_entries(about: About) -> list[str]:
    return [f"{word} = {string_text(text)}" for word, text in about.to_json().items()]


def _value_fields(attribute: Attribute) -> dict[str, str]:
    """The entries that say which values there are."""
    bins = attribute.bins
    if bins is not None:
        period = _period(bins)
        if period is not None:
            return period
        edges = [edge.isoformat() if isinstance(edge, dt.date) else number_text(edge) for edge in bins.edges]
        return {"bins": _list(edges), "labels": _list([string_text(label) for label in bins.labels])}
    if attribute.numeric is not None:
        return {"numeric": _numeric_text(attribute.numeric)}
    if attribute.labels is None:
        return {"size": str(len(attribute.values))}
    is_date = attribute.matching == "date"
    labels = [str(label) if is_date else _label(label) for label in attribute.labels]
    if attribute.meanings:
        pairs = zip(labels, attribute.meanings, strict=True)
        labels = [f"[{label}, {string_text(meaning)}]" if meaning else label for label, meaning in pairs]
    return {"labels": _list(labels)}


def _numeric_text(numeric: Numeric) -> str:
    edges = [string_text(str(edge * numeric.unit)) for edge in numeric.edges]
    fields = {"low": edges[0], "high": edges[-1], "unit": string_text(str(numeric.unit)), "bins": _list(edges[1:-1])}
    rules = {"outside": string_text(numeric.outside), "between_units": string_text(numeric.between_units)}
    return "{ " + ", ".join(f"{word} = {text}" for word, text in (fields | rules).items()) + " }"


def _period(bins: Bins) -> dict[str, str] | None:
    """The entry for bins of months or years, from the first to the last; None for others."""
    first, last = bins.labels[0], bins.labels[-1]
    with suppress(DomainError):
        if _MONTH.fullmatch(first) and bins == Bins.months(first, last):
            return {"months": _list([string_text(first), string_text(last)])}
    with suppress(DomainError, ValueError):
        if _YEAR.fullmatch(first) and bins == Bins.years(int(first), int(last)):
            return {"years": _list([str(int(first)), str(int(last))])}
    return None


def _label(label: Label) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return string_text(label) if isinstance(label, str) else str(label)


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

"""Attributes of a domain as TOML.

Reads: names and attributes.  Gives: TOML that is read as the same names and attributes.
"""

import datetime as dt
import itertools
import json
import math
import re
from contextlib import suppress

from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.about import About
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.labels import Into, Label
from residualplanner.more.amounts.numeric import Numeric
from residualplanner.more.amounts.weight import Weight

_MONTH, _YEAR = re.compile("[0-9]{4}-[0-9]{2}"), re.compile("[0-9]{4}")


def key_text(name: str) -> str:
    """A name as the key of a TOML entry, in quotes where it needs them.

    Example:
        >>> key_text("age"), key_text("income>50K")
        ('age', '"income>50K"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else string_text(name)


def string_text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute's entry in a spec, in the shortest form.

    Example:
        >>> attribute_text(Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="drop"))
        '{ labels = ["F", "M", "?"], unknown = "?", missing = "drop" }'
    """
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
    return "{ " + ", ".join([*entries, *about_entries(attribute.about)]) + " }"


def weight_text(weight: Weight) -> str:
    """The inline table of a weight, with exact numbers.

    Example:
        >>> print(weight_text(Weight("hours", maximum=60, unit=0.5)))
        { column = "hours", maximum = "60", unit = "1/2", above = "refuse" }
    """
    numbers = f"maximum = {string_text(str(weight.maximum))}, unit = {string_text(str(weight.unit))}"
    return f"{{ column = {string_text(weight.name)}, {numbers}, above = {string_text(weight.above)} }}"


def about_entries(about: About) -> list[str]:
    """The entries for the words about a column.

    Example:
        >>> about_entries(About(title="Income", unit="k€"))
        ['title = "Income"', 'unit = "k€"']
    """
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
    """The table of amounts, in exact numbers.

    Example:
        >>> _numeric_text(Numeric(0, 20, unit="0.5", bins=[5], outside="clip"))
        '{ low = "0", high = "20", unit = "1/2", bins = ["5"], outside = "clip", between_units = "round" }'
    """
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
    """A number as TOML, in the fewest digits that tell it from all others.

    Example:
        >>> number_text(1e6), number_text(0.5), number_text(-math.inf)
        ('1000000', '0.5', '-inf')
    """
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return str(int(number)) if float(number).is_integer() and abs(number) < 2**53 else repr(float(number))


def _list(items: list[str]) -> str:
    """A list on one line, or on several where it is long."""
    line = f"[{', '.join(items)}]"
    if len(line) <= 100:
        return line
    rows = (", ".join(row) for row in _rows(items))
    return "[\n    " + ",\n    ".join(rows) + ",\n]"


def _rows(items: list[str]) -> list[list[str]]:
    """The items in rows of about 100 letters."""
    ends = itertools.accumulate(len(item) + 2 for item in items)
    grouped = itertools.groupby(zip(items, ends, strict=True), key=lambda pair: pair[1] // 100)
    return [[item for item, _ in group] for _, group in grouped]

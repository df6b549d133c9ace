"""Attributes of a domain as TOML.

Reads: names and attributes.  Gives: TOML that is read as the same names and attributes.
"""

import itertools
import json
import math
import re

from residualplanner.domain import Attribute, Into, Label


def key_text(name: str) -> str:
    """A name as the key of a TOML entry, in quotes where it needs them.

    Example:
        >>> key_text("age"), key_text("income>50K")
        ('age', '"income>50K"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name, re.ASCII) else _text(name)


def _text(text: str) -> str:
    """A TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def attribute_text(attribute: Attribute) -> str:
    """The value of an attribute's entry in a spec, in the shortest form.

    Example:
        >>> attribute_text(Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="drop"))
        '{ labels = ["F", "M", "?"], unknown = "?", missing = "drop" }'
    """
    fields: dict[str, str] = {}
    if attribute.bins is not None:
        fields["bins"] = _list([edge_text(edge) for edge in attribute.bins.edges])
        fields["labels"] = _list([_text(label) for label in attribute.bins.labels])
    elif attribute.labels is not None:
        fields["labels"] = _list([_label(label) for label in attribute.labels])
    else:
        fields["size"] = str(attribute.size)
    if attribute.unknown == "error" and attribute.missing == "error" and attribute.bins is None:
        return next(iter(fields.values()))
    for word, rule in (("unknown", attribute.unknown), ("missing", attribute.missing)):
        if isinstance(rule, Into):
            is_word = rule.label in ("error", "drop")
            fields[word] = f"{{ into = {_label(rule.label)} }}" if is_word else _label(rule.label)
        elif rule != "error":
            fields[word] = _text(rule)
    return "{ " + ", ".join(f"{word} = {value}" for word, value in fields.items()) + " }"


def _label(label: Label) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return _text(label) if isinstance(label, str) else str(label)


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

"""Attributes as plain JSON values and back, strictly."""

import datetime as dt
import math
import reprlib
from collections.abc import Mapping
from typing import Any

from residualplanner.ground.checks import has_shape
from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.entries import date_of_day, day_of
from residualplanner.method.domain.labels import Into, Rule


def json_of_attribute(attribute: Attribute) -> dict[str, Any]:
    """The attribute as a JSON object; dates and infinite edges become strings, what is empty is left out."""
    meanings = {"meanings": list(attribute.meanings)} if attribute.meanings else {}
    rules = {"unknown": _json_of_rule(attribute.unknown), "missing": _json_of_rule(attribute.missing)}
    about = {"about": attribute.about.to_json()} if attribute.about else {}
    return {"name": attribute.name, **attribute.values.to_json(), **meanings, **rules, **about}


def attribute_of_json(value: object, where: str) -> Attribute:
    """The attribute that a JSON object describes; DomainError names the field that is wrong."""
    if not isinstance(value, dict):
        raise DomainError(f"{where}: expected an object, got {reprlib.repr(value)}")
    absent, foreign = sorted(_REQUIRED - value.keys()), sorted(value.keys() - _SHAPES)
    if absent or foreign:
        problem = f"the {names_text('field', absent, 'is', 'are')} missing" if absent else f"unknown {foreign}"
        raise DomainError(f"{where}: {problem}")
    for word, field in value.items():
        shape, words = _SHAPES[word]
        if not has_shape(field, shape):
            raise DomainError(f"{where}.{word}: expected {words}, got {reprlib.repr(field)}")
    try:
        return _attribute(value)
    except DomainError as error:
        raise DomainError(f"{where}: {error}", attributes=error.attributes) from None


def _attribute(fields: Mapping[str, Any]) -> Attribute:
    if {"dates", "labels"} <= fields.keys():
        raise DomainError("needs exactly one of size, labels, bins and numeric, or dates in place of labels")
    numeric = None
    if "numeric" in fields:
        from residualplanner.more.amounts.numeric import Numeric  # a door

        numeric = Numeric.of_units(**fields["numeric"])
    return Attribute(
        fields["name"],
        fields.get("size"),
        labels=_labels(fields),
        bins=_bins(**fields["bins"]) if "bins" in fields else None,
        numeric=numeric,
        unknown=_rule(fields["unknown"]),
        missing=_rule(fields["missing"]),
        about=About(**fields["about"]) if "about" in fields else None,
    )


def _labels(fields: Mapping[str, Any]) -> Any:
    """The labels as `Attribute` takes them: a list, also of dates, or a mapping to meanings; None for none."""
    labels = fields.get("labels")
    if "dates" in fields:
        labels = [date_of_day(day_of(text) or 0) for text in fields["dates"]]
    meanings = fields.get("meanings")
    if meanings is None:
        return labels
    if labels is None or len(meanings) != len(labels):
        raise DomainError("meanings: expected one for each label")
    if not has_shape(labels, [(str, int, bool, dt.date)]) or len(set(labels)) < len(labels):
        raise DomainError("labels: expected strings, integers or truth values, all different")
    return dict(zip(labels, meanings, strict=True))


def _bins(edges: list[Any], labels: list[Any]) -> Bins:
    infinite = {"-inf": -math.inf, "inf": math.inf}
    return Bins([infinite.get(edge, edge) if isinstance(edge, str) else edge for edge in edges], labels)


def _json_of_rule(rule: Rule) -> Any:
    return {"into": rule.label} if isinstance(rule, Into) else rule


def _rule(value: Any) -> Rule:
    return Into(value["into"]) if isinstance(value, dict) else value


def _is_date(value: object) -> bool:
    return isinstance(value, str) and len(value) == len("2020-12-31") and day_of(value) is not None


_RULE = ((lambda word: word in ("error", "drop"), {"into": lambda _: True}), '"error", "drop" or {"into": label}')
_UNITS = {"unit": str, "edges": lambda edges: has_shape(edges, [int]) and len(edges) > 1}
_NUMERIC = {**_UNITS, "outside": lambda _: True, "between_units": lambda _: True}
_REQUIRED = {"name", "unknown", "missing"}
#: Of each field of an attribute its shape, and that in words.
_SHAPES: dict[str, tuple[Any, str]] = {
    "name": (lambda _: True, "a string"),
    "size": (lambda _: True, "an integer"),
    "labels": (list, "a list"),
    "dates": ([_is_date], "dates such as 2020-12-31"),
    "bins": ({"edges": list, "labels": list}, "edges and labels, two lists"),
    "numeric": (
        (_NUMERIC, {**_NUMERIC, "squares": lambda squares: squares is True}),
        "two edges or more, a unit and rules",
    ),
    "meanings": (list, "a list"),
    "unknown": _RULE,
    "missing": _RULE,
    "about": (
        lambda about: isinstance(about, dict) and about.keys() <= {"title", "unit", "source", "note"},
        "an object with title, unit, source or note",
    ),
}

"""Attributes as plain JSON values and back, strictly."""

import datetime as dt
import math
import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.entries import date_of_day, day_of
from residualplanner.method.domain.labels import Into, Rule

if TYPE_CHECKING:
    from residualplanner.more.amounts.numeric import Numeric

#: The fields that an attribute need not have; it has one of the first five.
_OPTIONAL = {"size", "labels", "dates", "bins", "numeric", "meanings", "about"}
_DATE_LETTERS = len("2020-12-31")


def json_of_attribute(attribute: Attribute) -> dict[str, Any]:
    """The attribute as a JSON object; dates and infinite edges become strings, what is empty is left out."""
    meanings = {"meanings": list(attribute.meanings)} if attribute.meanings else {}
    rules = {"unknown": _json_of_rule(attribute.unknown), "missing": _json_of_rule(attribute.missing)}
    about = {"about": attribute.about.to_json()} if attribute.about else {}
    return {"name": attribute.name, **attribute.values.to_json(), **meanings, **rules, **about}


def attribute_of_json(value: object, where: str) -> Attribute:
    """The attribute that a JSON object describes; DomainError names the field that is wrong."""
    fields = _object(value, where, required={"name", "unknown", "missing"}, allowed=_OPTIONAL)
    if {"dates", "labels"} <= set(fields):
        raise DomainError(f"{where}: needs exactly one of size, labels, bins and numeric, or dates in place of labels")
    rules = {word: _rule_of_json(fields[word], f"{where}.{word}") for word in ("unknown", "missing")}
    labels = _labels_of_json(fields, where)
    bins = _bins_of_json(fields["bins"], f"{where}.bins") if "bins" in fields else None
    numeric = _numeric_of_json(fields["numeric"], f"{where}.numeric") if "numeric" in fields else None
    about = _about_of_json(fields["about"], f"{where}.about") if "about" in fields else None
    with _wrong_at(where):
        return Attribute(
            fields["name"], fields.get("size"), labels=labels, bins=bins, numeric=numeric, **rules, about=about
        )


@contextmanager
def _wrong_at(where: str) -> Iterator[None]:
    """Say in errors where in the JSON the wrong value is."""
    try:
        yield
    except DomainError as error:
        raise DomainError(f"{where}: {error}", attributes=error.attributes) from None


def _labels_of_json(fields: Mapping[str, Any], where: str) -> Any:
    """The labels as `Attribute` takes them: a list, also of dates, or a mapping to meanings; None for none."""
    for word in ("labels", "dates", "meanings"):
        if word in fields and not isinstance(fields[word], list):
            raise DomainError(f"{where}.{word}: expected a list, got {reprlib.repr(fields[word])}")
    labels = fields.get("labels")
    if "dates" in fields:
        days = [
            day_of(text) if isinstance(text, str) and len(text) == _DATE_LETTERS else None for text in fields["dates"]
        ]
        if None in days:
            raise DomainError(f"{where}.dates: expected dates such as 2020-12-31")
        labels = [date_of_day(day) for day in days if day is not None]
    if "meanings" not in fields:
        return labels
    if labels is None or len(fields["meanings"]) != len(labels):
        raise DomainError(f"{where}.meanings: expected one for each label")
    if not all(isinstance(label, str | int | dt.date) for label in labels) or len(set(labels)) < len(labels):
        raise DomainError(f"{where}.labels: expected strings, integers or truth values, all different")
    return dict(zip(labels, fields["meanings"], strict=True))


def _about_of_json(value: object, where: str) -> About:
    fields = _object(value, where, required=set(), allowed={"title", "unit", "source", "note"})
    with _wrong_at(where):
        return About(**fields)


def _bins_of_json(value: object, where: str) -> Bins:
    fields = _object(value, where, required={"edges", "labels"}, allowed=set())
    if not isinstance(fields["edges"], list) or not isinstance(fields["labels"], list):
        raise DomainError(f"{where}: edges and labels must be lists")
    infinite = {"-inf": -math.inf, "inf": math.inf}
    edges: list[Any] = [infinite.get(edge, edge) if isinstance(edge, str) else edge for edge in fields["edges"]]
    with _wrong_at(where):
        return Bins(edges, fields["labels"])


def _numeric_of_json(value: object, where: str) -> "Numeric":
    fields = _object(value, where, required={"unit", "edges", "outside", "between_units"}, allowed=set())
    edges, unit = fields["edges"], fields["unit"]
    if not isinstance(edges, list) or len(edges) < 2 or not all(type(edge) is int for edge in edges):
        raise DomainError(f"{where}.edges: expected a list of two integers or more")
    if not isinstance(unit, str):
        raise DomainError(f"{where}.unit: expected a string")
    rules = {word: fields[word] for word in ("outside", "between_units")}
    from residualplanner.more.amounts.numeric import Numeric  # a door

    with _wrong_at(where):
        return Numeric.of_units(edges, unit, **rules)


def _json_of_rule(rule: Rule) -> Any:
    return {"into": rule.label} if isinstance(rule, Into) else rule


def _rule_of_json(value: object, where: str) -> Rule:
    if value in ("error", "drop"):
        return cast("Rule", value)
    if isinstance(value, dict) and set(value) == {"into"}:
        return Into(value["into"])
    raise DomainError(f'{where}: expected "error", "drop" or {{"into": label}}, got {reprlib.repr(value)}')


def _object(value: object, where: str, *, required: set[str], allowed: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DomainError(f"{where}: expected an object, got {reprlib.repr(value)}")
    absent, foreign = sorted(required - set(value)), sorted(map(str, set(value) - required - allowed))
    if absent:
        raise DomainError(f"{where}: the {names_text('field', absent, 'is', 'are')} missing")
    if foreign:
        raise DomainError(f"{where}: unknown {names_text('field', foreign)}")
    return value

"""Attributes as plain JSON values and back, strictly.

Reads: an Attribute, or JSON values that may come from anyone.  Gives: the other of these.
"""

import math
import reprlib
from typing import Any, cast

from residualplanner.domain.attribute import Attribute, Into, Rule
from residualplanner.domain.bins import Bins
from residualplanner.errors import DomainError


def json_of_attribute(attribute: Attribute) -> dict[str, Any]:
    """The attribute as a JSON object; infinite edges become the strings "-inf" and "inf"."""
    values: dict[str, Any] = {"size": attribute.size}
    if attribute.labels is not None:
        values = {"labels": list(attribute.labels)}
    if attribute.bins is not None:
        edges = [edge if math.isfinite(edge) else str(edge) for edge in attribute.bins.edges]
        values = {"bins": {"edges": edges, "labels": list(attribute.bins.labels)}}
    rules = {"unknown": _json_of_rule(attribute.unknown), "missing": _json_of_rule(attribute.missing)}
    return {"name": attribute.name, **values, **rules}


def attribute_of_json(value: object, where: str) -> Attribute:
    """The attribute that a JSON object describes; DomainError names the field that is wrong."""
    fields = _object(value, where, required={"name", "unknown", "missing"}, allowed={"size", "labels", "bins"})
    rules = {word: _rule_of_json(fields[word], f"{where}.{word}") for word in ("unknown", "missing")}
    labels = fields.get("labels")
    if "labels" in fields and not isinstance(labels, list):
        raise DomainError(f"{where}.labels: expected a list, got {reprlib.repr(labels)}")
    bins = _bins_of_json(fields["bins"], f"{where}.bins") if "bins" in fields else None
    try:
        return Attribute(fields["name"], fields.get("size"), labels=labels, bins=bins, **rules)
    except DomainError as error:
        raise DomainError(f"{where}: {error}", attributes=error.attributes) from None


def _bins_of_json(value: object, where: str) -> Bins:
    fields = _object(value, where, required={"edges", "labels"}, allowed=set())
    if not isinstance(fields["edges"], list) or not isinstance(fields["labels"], list):
        raise DomainError(f"{where}: edges and labels must be lists")
    infinite = {"-inf": -math.inf, "inf": math.inf}
    edges: list[Any] = [infinite.get(edge, edge) if isinstance(edge, str) else edge for edge in fields["edges"]]
    try:
        return Bins(edges, fields["labels"])
    except DomainError as error:
        raise DomainError(f"{where}: {error}") from None


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
        raise DomainError(f"{where}: the fields {absent} are missing")
    if foreign:
        raise DomainError(f"{where}: unknown fields {reprlib.repr(foreign)}")
    return value

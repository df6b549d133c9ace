"""Kinds of query on one attribute: the basic matrices of generalized marginals."""

from residualplanner.queries.custom import Custom
from residualplanner.queries.hierarchy import Hierarchy
from residualplanner.queries.identity import Identity
from residualplanner.queries.json import kind_from_json, kind_to_json
from residualplanner.queries.kind import Kind, LabeledKind, Rows, asked_of
from residualplanner.queries.prefix import Prefix
from residualplanner.queries.ranges import Range

__all__ = [
    "Custom",
    "Hierarchy",
    "Identity",
    "Kind",
    "LabeledKind",
    "Prefix",
    "Range",
    "Rows",
    "asked_of",
    "kind_from_json",
    "kind_to_json",
]

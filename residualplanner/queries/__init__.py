"""Kinds of query on one attribute: the basic matrices of generalized marginals."""

from residualplanner.queries.identity import Identity
from residualplanner.queries.json import kind_from_json, kind_to_json
from residualplanner.queries.kind import Kind

__all__ = ["Identity", "Kind", "kind_from_json", "kind_to_json"]

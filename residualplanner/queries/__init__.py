"""Kinds of query on one attribute: the basic matrices of generalized marginals.

Reads: levels, a matrix, labels, or nothing.  Gives: `Identity`, `Matching`, `Prefix`, `Range`, `Hierarchy`, `Custom`
and `Selection`, and their JSON.
Protocol: a `Kind` gives the products with its matrix W (q, n) that plans need, and labels for its answers; a kind that
is written in labels is tied to an attribute's values first (`tied_kind`).
Equation: an answer of a query is w_r applied along each axis of its table; the row of ones is in the row space of W,
unless W is a `Selection`, which is about some of the records only.
Attributes of a joint kind, `Matching`, are answered together after that.
"""

from residualplanner.queries.custom import Custom
from residualplanner.queries.hierarchy import Hierarchy
from residualplanner.queries.identity import Identity, Matching
from residualplanner.queries.joint import answered_jointly, joint_factors, require_joint
from residualplanner.queries.json import kind_from_json, kind_to_json
from residualplanner.queries.kind import SIZE_LIMIT, Kind, Rows, labels_in_words, meanings_of, tied_kind
from residualplanner.queries.runs import Prefix, Range
from residualplanner.queries.selected_values import checked_values
from residualplanner.queries.selection import Selection

__all__ = [
    "SIZE_LIMIT",
    "Custom",
    "Hierarchy",
    "Identity",
    "Kind",
    "Matching",
    "Prefix",
    "Range",
    "Rows",
    "Selection",
    "answered_jointly",
    "checked_values",
    "joint_factors",
    "kind_from_json",
    "kind_to_json",
    "labels_in_words",
    "meanings_of",
    "require_joint",
    "tied_kind",
]

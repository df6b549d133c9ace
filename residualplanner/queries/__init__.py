"""Kinds of query on one attribute: the basic matrices of generalized marginals.

Reads: levels, a matrix, labels, ends of bins, or nothing.  Gives: `Identity`, `Matching`, `Prefix`, `Range`,
`Hierarchy`, `Custom`, `Selection`, `Sum`, `Mean` and `Quantiles`, and their JSON.
Protocol: a `Kind` gives the products with its matrix W (q, n) that plans need, and labels for its answers; a kind that
is written in labels is tied to an attribute's values first (`tied_kind`).
Equation: an answer of a query is w_r applied along each axis of its table; the row of ones is in the row space of W,
unless W is a `Selection`, which is about some of the records only, or about amounts: a `Sum`, or the sums that a `Mean`
is made of.
Attributes of a joint kind, `Matching`, are answered together after that.
"""

from residualplanner.queries.amounts import ByBin, Sum, amounts_of
from residualplanner.queries.classifications import Classification, Item, Origin
from residualplanner.queries.custom import Custom
from residualplanner.queries.from_sources import origins_of
from residualplanner.queries.hierarchy import Hierarchy
from residualplanner.queries.identity import Identity, Matching
from residualplanner.queries.joint import answered_jointly, joint_factors, require_joint
from residualplanner.queries.json import kind_from_json, kind_to_json
from residualplanner.queries.kind import SIZE_LIMIT, Kind
from residualplanner.queries.meanings import MEANING, labels_in_words, meanings_of
from residualplanner.queries.rows import Rows
from residualplanner.queries.runs import Prefix, Range
from residualplanner.queries.selected_values import checked_values
from residualplanner.queries.selection import Selection
from residualplanner.queries.statistics import Mean, Quantiles, Statistic, statistic_among
from residualplanner.queries.tying import tied_kind, written_kind

__all__ = [
    "MEANING",
    "SIZE_LIMIT",
    "ByBin",
    "Classification",
    "Custom",
    "Hierarchy",
    "Identity",
    "Item",
    "Kind",
    "Matching",
    "Mean",
    "Origin",
    "Prefix",
    "Quantiles",
    "Range",
    "Rows",
    "Selection",
    "Statistic",
    "Sum",
    "amounts_of",
    "answered_jointly",
    "checked_values",
    "joint_factors",
    "kind_from_json",
    "kind_to_json",
    "labels_in_words",
    "meanings_of",
    "origins_of",
    "require_joint",
    "statistic_among",
    "tied_kind",
    "written_kind",
]

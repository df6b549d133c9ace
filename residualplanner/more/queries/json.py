"""Kinds of query beyond the plain ones, from plain JSON values that may come from anyone."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from residualplanner.ground.checks import is_unicode
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Into
from residualplanner.method.queries.identity import Matching
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.more.amounts.amounts import ByBin, Sum
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.more.classifications.classification import Classification
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.more.queries.selection import Selection


def _hierarchy(value: dict[str, Any]) -> Hierarchy:
    total, leaves, values = (value[word] for word in ("total", "leaves", "values"))
    if not (total is None or isinstance(total, str)):
        raise FileFormatError("a kind 'hierarchy' must have null or a string for its total")
    kind = _untied_hierarchy(value, total=False if total is None else total, leaves=leaves)
    if values is None:
        return kind
    if not isinstance(values, list):
        raise FileFormatError("a kind 'hierarchy' must have a list of values, or null")
    return kind.on(_values_of(values, kind.classification))


def _values_of(values: list[Any], classification: Classification | None) -> Attribute:
    """The attribute of the values; the last ones, if they are no leaves, are labels of its own, two at most."""
    leaves = values if classification is None else [item.code for item in classification.items[-1]]
    own = values[len(leaves) :]
    if not own or len(own) > 2 or not all(isinstance(label, str) for label in own):
        return Attribute("values", labels=values)
    return Attribute("values", labels=values[: len(leaves)], unknown=Into(own[0]), missing=Into(own[-1]))


def _untied_hierarchy(value: dict[str, Any], *, total: bool | str, leaves: bool) -> Hierarchy:
    """The hierarchy of a classification, or else of levels."""
    if "classification" in value:
        classification = Classification.from_json(value["classification"])
        return Hierarchy.of_classification(classification, total=total, leaves=leaves)
    levels = value["levels"]
    if not isinstance(levels, list):
        raise FileFormatError("a kind 'hierarchy' must have a list of levels")
    return Hierarchy([_level(level) for level in levels], total=total, leaves=leaves)


def _by_bin(value: dict[str, Any]) -> ByBin:
    of_bins, bins = kind_from_json(value["of_bins"]), value["bins"]
    if isinstance(of_bins, ByBin | Sum) or of_bins.is_statistic or of_bins.at_least:
        raise FileFormatError("a kind 'by bin' must be of counts of bins")
    if type(bins) is not int or not 1 <= bins <= SIZE_LIMIT // 2:
        raise FileFormatError(f"a kind 'by bin' must have from 1 to {SIZE_LIMIT // 2:,} bins")
    return ByBin(of_bins, bins)


def _edges(value: dict[str, Any]) -> tuple[float, ...] | None:
    """The edges of bins that a kind is tied to, or None."""
    word, edges = value["kind"], value["edges"]
    if edges is None:
        return None
    is_list = isinstance(edges, list) and 2 <= len(edges) <= SIZE_LIMIT // 2 + 1
    if not is_list or not all(type(edge) is float and math.isfinite(edge) for edge in edges):
        raise FileFormatError(f"a kind {word!r} must have null or a list of numbers for its edges")
    if not all(low < high for low, high in pairwise(edges)):
        raise FileFormatError(f"the edges of a kind {word!r} must increase")
    return tuple(edges)


def _sum(value: dict[str, Any]) -> Sum:
    return Sum(value["by"], edges=_edges(value))


def _mean(value: dict[str, Any]) -> Mean:
    between, edges = value["between"], _edges(value)
    is_pair = isinstance(between, list) and len(between) == 2 and all(type(end) is float for end in between)
    if between is not None and not is_pair:
        raise FileFormatError("a kind 'mean' must have null or two numbers for what it is between")
    kind = Mean(None if between is None else (between[0], between[1]), edges=edges)
    if edges is not None and not edges[0] <= kind.expected[0] < kind.expected[1] <= edges[-1]:
        raise FileFormatError("a kind 'mean' must be between amounts within its edges")
    return kind


def _quantiles(value: dict[str, Any]) -> Quantiles:
    given, ends = value["probabilities"], value["ends"]
    if not isinstance(given, list) or not all(type(entry) is float for entry in given):
        raise FileFormatError("a kind 'quantiles' must have a list of numbers for its probabilities")
    if type(ends) is not int or ends not in (1, 2):
        raise FileFormatError("a kind 'quantiles' must have 1 or 2 cells for each bin")
    return Quantiles(tuple(given), edges=_edges(value), ends=ends)


def _level(level: object) -> Any:
    if isinstance(level, int):
        return level
    if not isinstance(level, list) or not all(_is_group(group) for group in level):
        raise FileFormatError("a level of a kind 'hierarchy' must be a number, or a list of [name, members]")
    groups = dict(level)
    if len(groups) < len(level):
        raise FileFormatError("a level of a kind 'hierarchy' has two groups of one name")
    return groups


def _is_group(group: object) -> bool:
    return isinstance(group, list) and len(group) == 2 and isinstance(group[0], str) and isinstance(group[1], list)


def _selection(value: dict[str, Any]) -> Selection:
    size, codes, labels, words = (value[word] for word in ("size", "codes", "labels", "words"))
    if type(size) is not int or not 1 <= size <= SIZE_LIMIT:
        raise FileFormatError(f"a kind 'selection' must have a size from 1 to {SIZE_LIMIT:,}")
    if not isinstance(codes, list) or not codes or not all(type(code) is int for code in codes):
        raise FileFormatError("a kind 'selection' must have the codes of one value or more")
    if codes[0] < 0 or codes[-1] >= size or any(a >= b for a, b in pairwise(codes)):
        raise FileFormatError("the codes of a kind 'selection' must be ascending, and below its size")
    is_listed = isinstance(labels, list) and all(type(label) in (str, int, bool) for label in labels)
    has_words = isinstance(words, str) and is_unicode(words) and (bool(words) or labels == [""])
    if not is_listed or len(labels) != len(codes) or not has_words:
        raise FileFormatError("a kind 'selection' must have a label for each of its codes, and the same in words")
    if value["of"] is None and len(codes) == size:
        raise FileFormatError("a kind 'selection' of all values selects nothing")
    given = None if value["of"] is None else Selection(labels[:1], kind_from_json(value["of"])).of
    return Selection.of_codes(tuple(codes), tuple(labels), words, given, size)


#: Of each kind, by its word in files, the fields of its object, and what reads them.
READERS: dict[str, tuple[set[str], Callable[[dict[str, Any]], Kind]]] = {
    "hierarchy": ({"levels", "total", "leaves", "values"}, _hierarchy),
    "matching": ({"at_least"}, lambda value: Matching(value["at_least"])),
    "by bin": ({"of_bins", "bins"}, _by_bin),
    "sum": ({"by", "edges"}, _sum),
    "mean": ({"between", "edges"}, _mean),
    "quantiles": ({"probabilities", "edges", "ends"}, _quantiles),
    "selection": ({"size", "codes", "labels", "words", "of"}, _selection),
}

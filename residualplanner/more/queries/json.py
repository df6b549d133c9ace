"""Kinds of query beyond the plain ones, from plain JSON values that may come from anyone."""

import math
from itertools import pairwise
from typing import Any

from residualplanner.ground.checks import has_shape, is_unicode, pair_of
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Into
from residualplanner.method.queries.identity import Matching
from residualplanner.method.queries.json import Readers, is_size, kind_from_json
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.more.amounts.amounts import ByBin, Sum, by_bin
from residualplanner.more.amounts.moments import Moments, StandardDeviation
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.more.classifications.classification import Classification
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.more.queries.proportions import Proportions
from residualplanner.more.queries.selection import Selection

#: The most bins of amounts.
_MOST = SIZE_LIMIT // 2


def _hierarchy(value: dict[str, Any]) -> Hierarchy:
    total, leaves, values = value["total"] is not None and value["total"], value["leaves"], value["values"]
    if "classification" in value:
        classification = Classification.from_json(value["classification"])
        kind = Hierarchy.of_classification(classification, total=total, leaves=leaves)
    else:
        levels = [level if isinstance(level, int) else dict(level) for level in value["levels"]]
        kind = Hierarchy(levels, total=total, leaves=leaves)
    return kind if values is None else kind.on(_values_of(values, kind.classification))


def _values_of(values: list[Any], classification: Classification | None) -> Attribute:
    """The attribute of the values; the last ones, if they are no leaves, are labels of its own, two at most."""
    leaves = values if classification is None else [item.code for item in classification.items[-1]]
    own = values[len(leaves) :]
    if not own or len(own) > 2 or not has_shape(own, [str]):
        return Attribute("values", labels=values)
    return Attribute("values", labels=values[: len(leaves)], unknown=Into(own[0]), missing=Into(own[-1]))


def _by_bin(value: dict[str, Any]) -> Kind:
    of_bins = kind_from_json(value["of_bins"])
    if isinstance(of_bins, ByBin | Sum) or of_bins.statistics or of_bins.at_least:
        raise FileFormatError("a kind 'by bin' must be of counts of bins")
    return by_bin(of_bins, value["bins"], value.get("per_bin", 2))


def _are_edges(value: Any) -> bool:
    is_list = has_shape(value, [float]) and 2 <= len(value) <= _MOST + 1
    return is_list and all(low < high for low, high in pairwise(value)) and all(map(math.isfinite, value))


def _edges(value: dict[str, Any]) -> tuple[float, ...] | None:
    return None if value["edges"] is None else tuple(value["edges"])


def _mean(value: dict[str, Any]) -> Mean:
    between, per_bin = value["between"] and tuple(value["between"]), value.get("per_bin", 2)
    kind = Mean(between, edges=_edges(value), per_bin=per_bin)
    if kind.edges is not None and not kind.edges[0] <= kind.expected[0] < kind.expected[1] <= kind.edges[-1]:
        raise FileFormatError("a kind 'mean' must be between amounts within its edges")
    return kind


def _selection(value: dict[str, Any]) -> Selection:
    size, codes, labels, words = (value[word] for word in ("size", "codes", "labels", "words"))
    if not codes or codes[0] < 0 or codes[-1] >= size or any(a >= b for a, b in pairwise(codes)):
        raise FileFormatError("the codes of a kind 'selection' must be ascending, and below its size")
    if len(labels) != len(codes) or not is_unicode(words) or not (words or labels == [""]):
        raise FileFormatError("a kind 'selection' must have a label for each of its codes, and the same in words")
    if value["of"] is None and len(codes) == size:
        raise FileFormatError("a kind 'selection' of all values selects nothing")
    of = None if value["of"] is None else kind_from_json(value["of"])
    return Selection(labels, of, codes=tuple(codes), size=size, where_words=words)


def _is_size_or_none(value: object) -> bool:
    return type(value) is int and (value == 0 or is_size(value))


def _proportions(value: dict[str, Any]) -> Proportions:
    among, values, size = value["among"], value["values"], value["size"]
    cells = tuple(map(tuple, value["cells"]))
    every = [cell for each in cells for cell in each]
    if len(values) != len(cells) or len(set(every)) < len(every) or not all(0 <= cell < size for cell in every):
        raise FileFormatError("the cells of a kind 'proportions' must differ, be below its size, and have a label each")
    if not all(cells) or not all(map(is_unicode, values)):
        raise FileFormatError("each label of a kind 'proportions' must be text, and have a cell")
    return Proportions(among, tuple(values), cells, size)


def _is_level(value: Any) -> bool:
    """Whether it is a number of values, or pairs of a name and members; no two groups have one name."""
    return type(value) is int or (has_shape(value, [pair_of(str, list)]) and len(dict(value)) == len(value))


def _or_with_squares(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a kind on amounts whose bins have two cells, and those with three."""
    return fields, {**fields, "per_bin": lambda per_bin: type(per_bin) is int and per_bin == 3}


_ROWS = {"total": (None, str), "leaves": bool, "values": (None, list)}
_EDGES = (None, _are_edges)

#: As those of the plain kinds.
READERS: Readers = {
    "hierarchy": (({"levels": [_is_level], **_ROWS}, {"classification": dict, **_ROWS}), _hierarchy),
    "matching": (({"at_least": int},), lambda value: Matching(value["at_least"])),
    "by bin": (_or_with_squares({"of_bins": dict, "bins": lambda bins: is_size(bins) and bins <= _MOST}), _by_bin),
    "sum": (
        _or_with_squares({"by": (None, str), "edges": _EDGES}),
        lambda value: Sum(value["by"], edges=_edges(value), per_bin=value.get("per_bin", 2)),
    ),
    "mean": (_or_with_squares({"between": (None, pair_of(float, float)), "edges": _EDGES}), _mean),
    "standard deviation": (({"edges": _EDGES},), lambda value: StandardDeviation(edges=_edges(value))),
    "moments": (({"edges": _EDGES},), lambda value: Moments(edges=_edges(value))),
    "quantiles": (
        ({"probabilities": [float], "edges": _EDGES, "ends": lambda ends: type(ends) is int and ends in (1, 2, 3)},),
        lambda value: Quantiles(tuple(value["probabilities"]), edges=_edges(value), ends=value["ends"]),
    ),
    "proportions": (
        ({"among": [(str, int, bool)], "values": [str], "cells": [[int]], "size": _is_size_or_none},),
        _proportions,
    ),
    "selection": (
        ({"size": is_size, "codes": [int], "labels": [(str, int, bool)], "words": str, "of": (None, dict)},),
        _selection,
    ),
}

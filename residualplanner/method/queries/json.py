"""Kinds of query as plain JSON values, for plan files.

Reads: kinds, or JSON values that may come from anyone.  Gives: the other of these.
"""

import math
import reprlib
from collections.abc import Callable
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import is_unicode
from residualplanner.ground.errors import DomainError, FileFormatError, WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Into
from residualplanner.method.queries.custom import LARGEST_ENTRY, Custom
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.kind import SIZE_LIMIT, Kind
from residualplanner.method.queries.runs import Prefix, Range
from residualplanner.more.amounts.amounts import ByBin, Sum
from residualplanner.more.amounts.statistics import Mean, Quantiles, Statistic
from residualplanner.more.classifications.classification import Classification
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.more.queries.selection import Selection

_PLAIN: dict[str, Kind] = {"identity": Identity(), "prefix": Prefix(), "range": Range()}
_FIELDS: dict[str, set[str]] = {
    **{word: set() for word in _PLAIN},
    "hierarchy": {"levels", "total", "leaves", "values"},
    "custom": {"size", "rows", "labels"},
    "matching": {"at_least"},
    "by bin": {"of_bins", "bins"},
    "sum": {"by", "edges"},
    "mean": {"between", "edges"},
    "quantiles": {"probabilities", "edges", "ends"},
    "selection": {"size", "codes", "labels", "words", "of"},
}
#: The fields of a hierarchy from a file or a frame.
_CLASSIFIED = {"classification", "total", "leaves", "values"}


@singledispatch
def kind_to_json(kind: Kind) -> dict[str, Any]:
    """The kind as an object that `kind_from_json` reads.

    Example:
        >>> kind_to_json(Identity())
        {'kind': 'identity'}
        >>> kind_to_json(Custom([[1, 1, 1], [0, 0.5, 0]], labels=["all", "half"]))["rows"]
        [[[0, 1, 2], [1, 1, 1]], [[1], [0.5]]]
    """
    return {"kind": kind.name}


@kind_to_json.register
def _json_of_hierarchy(kind: Hierarchy) -> dict[str, Any]:
    levels = [
        level if isinstance(level, int) else [[name, list(all_)] for name, all_ in level] for level in kind.levels
    ]
    values = None if kind.values is None else list(kind.values)
    shape: dict[str, Any] = {"levels": levels}
    if kind.classification is not None:  # which the levels follow from
        shape = {"classification": kind.classification.to_json()}
    return {"kind": kind.name, **shape, "total": kind.total, "leaves": kind.leaves, "values": values}


@kind_to_json.register
def _json_of_custom(kind: Custom) -> dict[str, Any]:
    W = kind.weights
    numbers = [int(entry) if entry.is_integer() else entry for entry in W.data.tolist()]
    columns, bounds = W.indices.tolist(), W.indptr.tolist()
    rows = [[columns[i:j], numbers[i:j]] for i, j in pairwise(bounds)]
    return {"kind": kind.name, "size": W.shape[1], "rows": rows, "labels": list(kind.row_labels)}


@kind_to_json.register
def _json_of_bins(kind: ByBin) -> dict[str, Any]:
    return {"kind": "by bin", "of_bins": kind_to_json(kind.of_bins), "bins": kind.bins}


@kind_to_json.register
def _json_of_sum(kind: Sum) -> dict[str, Any]:
    return {"kind": "sum", "by": kind.by, "edges": None if kind.edges is None else list(kind.edges)}


@kind_to_json.register
def _json_of_statistic(kind: Statistic) -> dict[str, Any]:
    return {"kind": kind.name, **kind.to_json()}


@kind_to_json.register
def _json_of_selection(kind: Selection) -> dict[str, Any]:
    of = None if kind.of is None else kind_to_json(kind.of)
    fields = {"codes": list(kind.codes), "labels": list(kind.where), "words": kind.where_words}
    return {"kind": "selection", "size": kind.size, **fields, "of": of}


@kind_to_json.register
def _json_of_matching(kind: Matching) -> dict[str, Any]:
    return {"kind": "matching", "at_least": kind.at_least}


def kind_from_json(value: object) -> Kind:
    """Undo `kind_to_json`.

    Raises:
        FileFormatError: it is not a kind of query that this version knows, or an invalid one.
    """
    word = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(word, str) or word not in _FIELDS:
        message = (
            "a kind of query must be {'kind': 'identity'}, 'prefix', 'range', 'hierarchy', 'custom', 'matching', "
            "'selection', 'by bin', 'sum', 'mean' or 'quantiles', got "
        )
        raise FileFormatError(message + reprlib.repr(value))
    allowed = {"kind"} | (_CLASSIFIED if "classification" in value and word == "hierarchy" else _FIELDS[word])
    if set(value) != allowed:
        fields = sorted(allowed)
        raise FileFormatError(f"a kind {word!r} must have the fields {fields}, got {reprlib.repr(sorted(value))}")
    try:
        return _PLAIN[word] if word in _PLAIN else _READERS[word](value)
    except (DomainError, WorkloadError) as error:
        raise FileFormatError(f"an invalid kind {word!r}: {error}") from None


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
    if isinstance(of_bins, ByBin | Sum | Statistic) or of_bins.at_least:
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


def _custom(value: dict[str, Any]) -> Custom:
    size, rows = value["size"], value["rows"]
    if type(size) is not int or not 1 <= size <= SIZE_LIMIT:
        raise FileFormatError(f"a kind 'custom' must have a size from 1 to {SIZE_LIMIT:,}")
    if not isinstance(rows, list) or not rows or not all(_is_row(row, size) for row in rows):
        raise FileFormatError(
            "a kind 'custom' must have rows [columns, entries], the columns ascending and below its size, the entries "
            f"numbers of at most {LARGEST_ENTRY:g} in size and none of them 0"
        )
    bounds = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns = np.array([column for columns, _ in rows for column in columns], dtype=np.int32)
    entries = np.array([entry for _, entries in rows for entry in entries], dtype=np.float64)
    return Custom(sparse.csr_array((entries, columns, bounds), shape=(len(rows), size)), value["labels"])


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


def _is_row(row: object, size: int) -> bool:
    if not isinstance(row, list) or len(row) != 2 or not all(isinstance(part, list) for part in row):
        return False
    columns, entries = row
    if not 1 <= len(columns) == len(entries) <= size or not all(type(column) is int for column in columns):
        return False
    if columns[0] < 0 or columns[-1] >= size or any(a >= b for a, b in pairwise(columns)):
        return False
    return all(type(entry) in (int, float) and 0 < abs(entry) <= LARGEST_ENTRY for entry in entries)


_READERS: dict[str, Callable[[dict[str, Any]], Kind]] = {
    "hierarchy": _hierarchy,
    "custom": _custom,
    "matching": lambda value: Matching(value["at_least"]),
    "by bin": _by_bin,
    "sum": _sum,
    "mean": _mean,
    "quantiles": _quantiles,
    "selection": _selection,
}

"""A workload as JSON values and arrays for files: its domain, its kinds, and the queries of each order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.blocks import QueryBlock
from residualplanner.method.workload.workload import Workload

#: What the names of all arrays of queries begin with.
QUERIES = "queries/"


def workload_to_arrays(workload: Workload) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The domain, the kinds and the orders that occur; and for each order the arrays of a `QueryBlock`."""
    orders = [order for order, block in enumerate(workload.blocks) if len(block)]
    arrays: dict[str, NDArray[Any]] = {}
    for order in orders:
        block = workload.blocks[order]
        arrays[f"{QUERIES}attributes_{order}"] = block.attributes
        arrays[f"{QUERIES}kinds_{order}"] = block.kinds
        arrays[f"{QUERIES}weights_{order}"] = block.weights
        if block.axes is not None:
            arrays[_axes_name(order)] = block.axes
    kinds = [kind.to_json() for kind in workload.kinds]
    return {"domain": workload.domain.to_json(), "kinds": kinds, "orders": orders}, arrays


def workload_from_arrays(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, set_limit: int) -> Workload:
    """Undo `workload_to_arrays`, checking everything.

    Args:
        header: with the fields "domain", "kinds" and "orders", and others.
        arrays: of the queries, and no others.
        set_limit: how many sets the closure may have: more are refused before they are made.

    Raises:
        FileFormatError: a field or array is missing, superfluous, of the wrong kind, or does not fit the others.
    """
    domain = Domain.from_json(header["domain"])
    orders, listed = header["orders"], header["kinds"]
    if not isinstance(listed, list) or not listed or len(listed) > 1000:
        raise FileFormatError("a plan must list its kinds of query")
    if not isinstance(orders, list) or not all(type(order) is int for order in orders) or not orders:
        raise FileFormatError("a plan must list the orders of its queries")
    if orders != sorted(set(orders)) or orders[0] < 0 or orders[-1] > len(domain):
        raise FileFormatError("the orders of a plan's queries must be ascending, from 0 to the number of attributes")
    expected = {f"{QUERIES}{part}_{order}" for part in ("attributes", "kinds", "weights") for order in orders}
    expected |= {_axes_name(order) for order in orders if _axes_name(order) in arrays}
    if set(arrays) != expected:
        raise FileFormatError("a plan must have the queries of each order, and no other arrays")
    kinds = tuple(_kind(kind) for kind in listed)
    blocks = [_block(domain, len(kinds), arrays, order, stored=order in orders) for order in range(orders[-1] + 1)]
    try:
        workload = Workload.from_blocks(domain, blocks, kinds, set_limit=set_limit)
    except WorkloadError as error:
        raise FileFormatError(f"invalid workload in a plan: {error}") from error
    try:
        # As many sets as there are noise variances, and no more work than these took to write: a file of a few thousand
        # bytes may name a query of 24 attributes, which has 16 million subsets.
        _ = workload.closure
    except WorkloadError:
        raise FileFormatError(
            f"noise_variance has {set_limit:,} entries, fewer than the queries have subsets of attributes"
        ) from None
    return workload


def _kind(value: object) -> Kind:
    """A kind of query, of which all is written out: what a few bytes stand for could take long to make."""
    fields = value if isinstance(value, Mapping) else {}
    levels, values = fields.get("levels", [] if "classification" in fields else None), fields.get("values")
    if isinstance(levels, list) and (values is None or any(isinstance(level, int) for level in levels)):
        raise FileFormatError("a hierarchy in a plan must have its values, and groups in place of widths of bands")
    return kind_from_json(value)


def _block(
    domain: Domain, kind_count: int, arrays: Mapping[str, NDArray[Any]], order: int, *, stored: bool
) -> QueryBlock:
    if not stored:
        empty = np.empty((0, order))
        return QueryBlock(empty.astype(np.int32), empty.astype(np.int16), np.empty(0))
    count = len(arrays[f"{QUERIES}weights_{order}"]) if arrays[f"{QUERIES}weights_{order}"].ndim else 0
    attributes = array_of(arrays, f"{QUERIES}attributes_{order}", np.dtype("<i4"), (count, order))
    kinds = array_of(arrays, f"{QUERIES}kinds_{order}", np.dtype("<i2"), (count, order))
    weights = array_of(arrays, f"{QUERIES}weights_{order}", np.dtype("<f8"), (count,))
    if not ((attributes >= 0) & (attributes < len(domain))).all() or not ((kinds >= 0) & (kinds < kind_count)).all():
        raise FileFormatError(f"queries of order {order} name attributes or kinds that are not there")
    if not (attributes[:, 1:] > attributes[:, :-1]).all() or not _ascending(
        np.concatenate([attributes, kinds], axis=1)
    ):
        raise FileFormatError(f"queries of order {order} are not in order, or repeat")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise FileFormatError(f"weights of order {order} must be finite and at least 0")
    return QueryBlock(attributes, kinds, weights, _axes(arrays, order, count))


def _axes_name(order: int) -> str:
    """The array of the orders in which queries were written; it is there where one is not the domain's."""
    return f"{QUERIES}axes_{order}"


def _axes(arrays: Mapping[str, NDArray[Any]], order: int, count: int) -> NDArray[Any] | None:
    if _axes_name(order) not in arrays:
        return None
    axes = array_of(arrays, _axes_name(order), np.dtype("<i4"), (count, order))
    is_ascending = axes == np.arange(order)
    if is_ascending.all() or not (np.sort(axes, axis=1) == np.arange(order)).all():
        raise FileFormatError(f"queries of order {order} must name each of their axes once, some not in domain order")
    return axes


def _ascending(rows: NDArray[Any]) -> bool:
    """Whether the rows (m, k) are in strict lexicographic order."""
    undecided = np.ones(max(len(rows) - 1, 0), dtype=np.bool_)
    for column in rows.T:
        if (undecided & (column[1:] < column[:-1])).any():
            return False
        undecided &= column[1:] == column[:-1]
    return not undecided.any()


def array_of(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """The array of this name, which must be of this type and shape.

    Raises:
        FileFormatError: it is not.
    """
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise FileFormatError(f"{name} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}")
    return array

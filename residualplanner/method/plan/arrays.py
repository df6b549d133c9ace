"""A plan's workload and strategy as JSON values and arrays for files: domain, kinds, queries of each order, and bases.

A matrix of integers is there once, with which attribute and factor has it; what follows from it is computed anew.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.attribute_sets import QueryBlock, block_of_order
from residualplanner.method.workload.query import KIND_LIMIT
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
    """Undo `workload_to_arrays`, checking everything; FileFormatError where something does not fit.

    The header may have other fields, too.  A closure of more than ``set_limit`` sets is refused before they are made.
    """
    domain = Domain.from_json(header["domain"])
    orders, listed = header["orders"], header["kinds"]
    if not isinstance(listed, list) or not listed or len(listed) > KIND_LIMIT:
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
    blocks = [
        _block(domain, len(kinds), arrays, order) if order in orders else block_of_order((), order)
        for order in range(orders[-1] + 1)
    ]
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
    # A classification stands in place of levels and has no bands: only its values can be missing.
    levels, values = fields.get("levels", [] if "classification" in fields else None), fields.get("values")
    if isinstance(levels, list) and (values is None or any(isinstance(level, int) for level in levels)):
        raise FileFormatError("a hierarchy in a plan must have its values, and groups in place of widths of bands")
    return kind_from_json(value)


def _block(domain: Domain, kind_count: int, arrays: Mapping[str, NDArray[Any]], order: int) -> QueryBlock:
    # A single number has no length; its shape is refused below.
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
    # Where all are in domain order the array is left out, so that a workload has one form in files.
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
    """The array of this name; FileFormatError unless it is of this type and shape."""
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise FileFormatError(f"{name} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}")
    return array


#: What the names of all arrays of bases begin with.
BASES = "bases/"
_ATTRIBUTES, _VARYING = f"{BASES}of_attribute", f"{BASES}varying"
_FACTORS, _MESSAGES = f"{BASES}of_factor", f"{BASES}messages"
#: The arrays of a strategy in which attributes vary.
_OF_VARYING = (_VARYING, _FACTORS, _MESSAGES)


def strategy_to_arrays(strategy: Strategy) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The family of each distinct basis, in order of first use, and arrays.

    The arrays are a matrix for each, and which of them every attribute has, (d,): -1 for the subtraction basis.  Where
    attributes vary, also which these are, which basis every factor of them has, (v,), and the messages.
    """
    numbers = np.concatenate([strategy.of_attribute, strategy.of_factor])
    used = list(dict.fromkeys(numbers.tolist()))
    families, arrays, index = _matrices_to_arrays([strategy.bases[number] for number in used])
    stored = np.zeros(len(strategy.bases), dtype=np.int32)
    stored[used] = index
    arrays[_ATTRIBUTES] = stored[strategy.of_attribute]
    if strategy.varying.any():
        arrays[_VARYING] = np.flatnonzero(strategy.varying).astype(np.int32)
        arrays[_FACTORS], arrays[_MESSAGES] = stored[strategy.of_factor], strategy.messages
    return families, arrays


def strategy_from_arrays(workload: Workload, families: object, arrays: Mapping[str, NDArray[Any]]) -> Strategy:
    """Undo `strategy_to_arrays`, checking everything: what follows from the matrices is computed.

    FileFormatError where an array does not fit; WorkloadError where the bases of an attribute do not fit one another,
    or there are more or fewer messages than they need.
    """
    number = np.empty(0, dtype=np.int32)
    none: dict[str, NDArray[Any]] = {_VARYING: number, _FACTORS: number, _MESSAGES: np.empty(0)}
    # An empty array of varying attributes is one too many: a strategy, too, has one form.
    others = _OF_VARYING if arrays.get(_VARYING, none[_VARYING]).size else ()
    stored = _matrices_from_arrays(families, arrays, {_ATTRIBUTES, *others})
    arrays = none | dict(arrays)
    sizes, varying = np.array(workload.domain.sizes, dtype=np.int64), np.zeros(len(workload.domain), dtype=np.bool_)
    positions, messages = arrays[_VARYING], arrays[_MESSAGES]
    # Steps of at least 1 from -1 up to d: positions ascend, and are in the domain.
    if (
        positions.dtype != np.dtype("<i4")
        or positions.ndim != 1
        or not ((np.diff(positions, prepend=-1, append=len(sizes)) > 0).all())
    ):
        raise FileFormatError(f"{_VARYING} must be int32, ascending, of attributes")
    array_of(arrays, _MESSAGES, np.dtype("<f8"), (messages.size,))
    varying[positions] = True
    factors = int(varying[workload.closure.attribute_of_factor].sum()) if len(positions) else 0
    index = _index_from_arrays(arrays, {_ATTRIBUTES: len(sizes), _FACTORS: factors}, len(stored))
    of_attribute, of_factor = index[: len(sizes)], index[len(sizes) :]
    if (of_factor < 0).any():
        raise FileFormatError(f"{_FACTORS} must name a basis that is stored for every factor")
    # Subtraction bases are not stored: one is made for each size that occurs.
    plain, rank = np.unique(sizes[of_attribute < 0], return_inverse=True)
    of_attribute[of_attribute < 0] = len(stored) + rank
    bases = (*stored, *map(subtraction_basis, plain.tolist()))
    return Strategy(workload.closure, bases, of_attribute, varying, of_factor, messages)


def _matrices_to_arrays(bases: Sequence[Basis]) -> tuple[list[str], dict[str, NDArray[Any]], NDArray[np.int32]]:
    """The family and the matrix of each distinct basis, and which of them each is: -1 for the subtraction basis."""
    found: dict[tuple[str, tuple[int, bytes]], int] = {}
    arrays: dict[str, NDArray[Any]] = {}
    index = np.full(len(bases), -1, dtype=np.int32)
    for i, basis in enumerate(bases):
        if basis.stored is not None:
            index[i] = found.setdefault((basis.family, basis.key), len(found))
            arrays[f"{BASES}matrix_{index[i]}"] = basis.stored
    return [family for family, _ in found], arrays, index


def _matrices_from_arrays(families: object, arrays: Mapping[str, NDArray[Any]], others: set[str]) -> tuple[Basis, ...]:
    """The distinct bases, whose matrices must be the arrays of bases besides those named in ``others``."""
    if not isinstance(families, list) or not all(
        isinstance(each, str) and len(each) <= 40 and each.isidentifier() and each.islower() and each != "subtraction"
        for each in families
    ):
        raise FileFormatError("a plan must list the families of its bases")
    names = [f"{BASES}matrix_{number}" for number in range(len(families))]
    if {name for name in arrays if name.startswith(BASES)} != {*others, *names}:
        raise FileFormatError(
            "a plan must have a matrix for each basis, and which attribute has which; where attributes vary, which "
            "basis every factor has, and messages"
        )
    stored = tuple(_basis(name, family, arrays[name]) for name, family in zip(names, families, strict=True))
    if len(_matrices_to_arrays(stored)[0]) != len(families):  # equal ones are written once
        raise FileFormatError("a plan must have each basis once")
    return stored


def _index_from_arrays(arrays: Mapping[str, NDArray[Any]], counts: Mapping[str, int], bases: int) -> IntArray:
    """Which of so many bases each attribute and factor has, from the arrays named in ``counts``, with their lengths."""
    parts = [array_of(arrays, name, np.dtype("<i4"), (count,)) for name, count in counts.items()]
    index = np.concatenate(parts).astype(np.int64)
    if list(dict.fromkeys(index[index != -1].tolist())) != list(range(bases)):
        raise FileFormatError("the bases of a plan must be numbered in the order in which they are used")
    return index


def _basis(name: str, family: str, matrix: NDArray[Any]) -> Basis:
    if matrix.dtype != np.dtype("<i8"):
        raise FileFormatError(f"{name} must be int64, got {matrix.dtype}")
    try:
        if matrix.ndim != 1:
            return integer_basis(matrix, family)
        from residualplanner.more.nested.nested import nested_basis_of_array  # a door

        return nested_basis_of_array(matrix, family)
    except WorkloadError as error:
        raise FileFormatError(f"invalid {name}: {error}") from error

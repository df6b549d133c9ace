"""Plans as files: a JSON header and plain arrays.  What a file says is checked again, never believed.

Reads: a plan, or a file somebody hands over.  Gives: a file, or a Plan whose cost has been recomputed.
"""

import io
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._archive import archive_pieces, content_hash, read_archive, write_archive
from residualplanner._atomic import PathLike
from residualplanner.domain import Domain
from residualplanner.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.plan.plan import Plan
from residualplanner.plan.strategy_arrays import BASES, strategy_from_arrays, strategy_to_arrays
from residualplanner.plan.target_arrays import TARGETS, targets_from_arrays, targets_to_arrays
from residualplanner.privacy import Budget, Neighbors
from residualplanner.queries import Kind, kind_from_json, kind_to_json
from residualplanner.workload import QueryBlock, Workload

FORMAT_VERSION = 5

_FIELDS = {"domain", "kinds", "orders", "budget", "loss", "loss_value", "gap", "status", "pcost"} | {
    "neighbors",
    "records_per_person",
    "bases",
    "targets",
}


def save_plan(plan: Plan, path: PathLike) -> None:
    """Write ``plan`` to one file, whole or not at all."""
    header, arrays = plan_to_archive(plan)
    write_archive(path, kind="plan", version=FORMAT_VERSION, header=header, arrays=arrays)


def plan_bytes(plan: Plan) -> bytes:
    """The bytes of the file that `save_plan` writes."""
    header, arrays = plan_to_archive(plan)
    file = io.BytesIO()
    archive_pieces(kind="plan", version=FORMAT_VERSION, header=header, arrays=arrays)(file)
    return file.getvalue()


def load_plan(path: PathLike) -> Plan:
    """Read a plan that `Plan.save` wrote, and check it.

    Raises:
        FileFormatError: the file is not a plan, truncated, altered, of a newer version, or does not fit together.
        BudgetError: its noise is not positive and finite, or costs more than its budget.
        OSError: the file cannot be opened.

    Guarantees: the cost is recomputed from the noise and the bases, and is within the budget the file states.
    """
    return plan_from_archive(*read_archive(path, kind="plan", version=FORMAT_VERSION))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 of a plan's content, which links what is measured to it."""
    return content_hash(*plan_to_archive(plan))


def plan_to_archive(plan: Plan) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The plan as a JSON header and arrays."""
    workload = plan.workload
    orders = [order for order, block in enumerate(workload.blocks) if len(block)]
    header: dict[str, Any] = {
        "domain": plan.domain.to_json(),
        "kinds": [kind_to_json(kind) for kind in workload.kinds],
        "orders": orders,
        "budget": plan.budget.to_json(),
        "pcost": plan.pcost,
        "loss": plan.loss,
        "loss_value": plan.loss_value,
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "status": plan.status,
        "neighbors": plan.neighbors.notion,
        "records_per_person": plan.neighbors.records_per_person,
    }
    arrays: dict[str, NDArray[Any]] = {"noise_variance": plan.noise_variances}
    header["bases"], matrices = strategy_to_arrays(plan.strategy)
    arrays |= matrices
    header["targets"], margins = targets_to_arrays(plan.targets)
    arrays |= margins
    for order in orders:
        block = workload.blocks[order]
        arrays[f"queries/attributes_{order}"] = block.attributes
        arrays[f"queries/kinds_{order}"] = block.kinds
        arrays[f"queries/weights_{order}"] = block.weights
        if block.axes is not None:
            arrays[_axes_name(order)] = block.axes
    return header, arrays


def plan_from_archive(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Plan:
    """Undo `plan_to_archive`, checking everything.

    Raises:
        FileFormatError: a field or array is missing, superfluous, of the wrong kind, or does not fit the others.
        BudgetError: the noise is not positive and finite, or costs more than the budget.
    """
    if set(header) != _FIELDS:
        raise FileFormatError(f"a plan must have the fields {sorted(_FIELDS)}, got {sorted(map(str, header))[:20]}")
    domain = Domain.from_json(header["domain"])
    workload = _workload(domain, header, arrays)
    _require_noise_for_all_sets(workload, arrays["noise_variance"])
    try:
        plan = Plan(
            workload=workload,
            noise_variances=_array(arrays, "noise_variance", np.dtype("<f8"), (len(workload.closure),)),
            budget=Budget.from_json(header["budget"]),
            loss=_text(header, "loss"),
            loss_value=_number(header, "loss_value"),
            gap=math.inf if header["gap"] is None else _number(header, "gap"),
            status=_text(header, "status"),
            neighbors=_neighbors(header["neighbors"], header["records_per_person"]),
            strategy=strategy_from_arrays(workload, header["bases"], arrays),
            targets=targets_from_arrays(len(workload), header["targets"], arrays),
        )
    except WorkloadError as error:
        raise FileFormatError(f"the plan's workload, bases or targets cannot be: {error}") from error
    if plan.pcost != header["pcost"]:
        raise BudgetError(f"the plan states pcost {header['pcost']!r}, but its noise costs {plan.pcost!r}; plan again")
    return plan


def _workload(domain: Domain, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Workload:
    orders, listed = header["orders"], header["kinds"]
    if not isinstance(listed, list) or not listed or len(listed) > 1000:
        raise FileFormatError("a plan must list its kinds of query")
    if not isinstance(orders, list) or not all(type(order) is int for order in orders) or not orders:
        raise FileFormatError("a plan must list the orders of its queries")
    if orders != sorted(set(orders)) or orders[0] < 0 or orders[-1] > len(domain):
        raise FileFormatError("the orders of a plan's queries must be ascending, from 0 to the number of attributes")
    expected = {f"queries/{part}_{order}" for part in ("attributes", "kinds", "weights") for order in orders}
    expected |= {_axes_name(order) for order in orders if _axes_name(order) in arrays}
    stored = {name for name in arrays if not name.startswith(BASES)}
    if stored - {TARGETS} != expected | {"noise_variance"} or (TARGETS in stored) != (header["targets"] is not None):
        raise FileFormatError(
            "a plan must have its noise, its bases, its targets and the queries of each order, and no other arrays"
        )
    kinds = tuple(_kind(kind) for kind in listed)
    blocks = [_block(domain, len(kinds), arrays, order, stored=order in orders) for order in range(orders[-1] + 1)]
    try:
        # As many sets as there are noise variances, and no more work than these took to write.
        return Workload.from_blocks(domain, blocks, kinds, set_limit=arrays["noise_variance"].size)
    except WorkloadError as error:
        raise FileFormatError(f"the plan's workload cannot be: {error}") from error


def _kind(told: object) -> Kind:
    """A kind of query, of which all is written out: what a few bytes stand for could take long to make."""
    levels, values = (told.get("levels"), told.get("values")) if isinstance(told, Mapping) else (None, None)
    if isinstance(levels, list) and (values is None or any(isinstance(level, int) for level in levels)):
        raise FileFormatError("a hierarchy in a plan must have its values, and groups in place of widths of bands")
    return kind_from_json(told)


def _require_noise_for_all_sets(workload: Workload, noise: NDArray[Any]) -> None:
    """Raise FileFormatError where the queries have more subsets than there are noise variances, before they are made.

    A file of a few thousand bytes may name a query of 24 attributes, which has 16 million subsets.
    """
    try:
        _ = workload.closure
    except WorkloadError:
        raise FileFormatError(
            f"noise_variance has {noise.size:,} entries, fewer than the queries have subsets of attributes"
        ) from None


def _block(domain: Domain, kinds: int, arrays: Mapping[str, NDArray[Any]], order: int, *, stored: bool) -> QueryBlock:
    if not stored:
        empty = np.empty((0, order))
        return QueryBlock(empty.astype(np.int32), empty.astype(np.int16), np.empty(0))
    count = len(arrays[f"queries/weights_{order}"]) if arrays[f"queries/weights_{order}"].ndim else 0
    attributes = _array(arrays, f"queries/attributes_{order}", np.dtype("<i4"), (count, order))
    asked = _array(arrays, f"queries/kinds_{order}", np.dtype("<i2"), (count, order))
    weights = _array(arrays, f"queries/weights_{order}", np.dtype("<f8"), (count,))
    if not ((attributes >= 0) & (attributes < len(domain))).all() or not ((asked >= 0) & (asked < kinds)).all():
        raise FileFormatError(f"queries of order {order} name attributes or kinds that are not there")
    if not (attributes[:, 1:] > attributes[:, :-1]).all() or not _ascending(
        np.concatenate([attributes, asked], axis=1)
    ):
        raise FileFormatError(f"queries of order {order} are not in order, or repeat")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise FileFormatError(f"weights of order {order} must be finite and at least 0")
    return QueryBlock(attributes, asked, weights, _axes(arrays, order, count))


def _axes_name(order: int) -> str:
    """The array of the orders in which queries were written; it is there where one is not the domain's."""
    return f"queries/axes_{order}"


def _axes(arrays: Mapping[str, NDArray[Any]], order: int, count: int) -> NDArray[Any] | None:
    if _axes_name(order) not in arrays:
        return None
    axes = _array(arrays, _axes_name(order), np.dtype("<i4"), (count, order))
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


def _neighbors(notion: Any, records_per_person: Any) -> Neighbors:
    try:
        return Neighbors(notion if isinstance(notion, str) else "", records_per_person)  # type: ignore[arg-type]
    except BudgetError as error:
        raise FileFormatError(f"a plan's neighbors cannot be: {error}") from error


def _array(arrays: Mapping[str, NDArray[Any]], name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    array = arrays[name]
    if array.dtype != dtype or array.shape != shape:
        raise FileFormatError(f"{name} must be {dtype} of shape {shape}, got {array.dtype} of shape {array.shape}")
    return array


def _text(header: Mapping[str, Any], name: str) -> str:
    value = header[name]
    if not isinstance(value, str) or len(value) > 1000:
        raise FileFormatError(f"a plan's {name} must be a short text")
    return value


def _number(header: Mapping[str, Any], name: str) -> float:
    value = header[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise FileFormatError(f"a plan's {name} must be a number, at least 0 and not too large")
    return float(value)

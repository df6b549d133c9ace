"""Plans as files: a JSON header and plain arrays.  What a file says is checked again, never believed.

A matrix of integers is there once, with which attribute and factor has it; what follows from it is computed anew.  What
is read is checked as far as a plan cannot be made of it; that it is in the form of its plan is seen by writing that.
"""

import io
import json
import math
import reprlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.archive import archive_pieces, parse_archive, read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import has_shape
from residualplanner.ground.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import DescribedLoss, Loss, MaxVariance, SumOfVariances, Targets
from residualplanner.method.losses.loss import RULES
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.attribute_sets import QueryBlock, block_of_order
from residualplanner.method.workload.query import KIND_LIMIT
from residualplanner.method.workload.workload import Workload

#: What the names of all arrays of losses begin with.
LOSS = "loss/"
_NOISE, _PROOF = "noise_variance", "proof/weights"


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 1000


def _is_family(value: object) -> bool:
    is_word = isinstance(value, str) and value.isidentifier() and value.islower()
    return is_word and len(value) <= 40 and value != "subtraction"  # type: ignore[arg-type]


#: The fields of a plan and their shapes, where these are not checked by who reads them; and what older files lack.
_FIELDS: dict[str, Any] = {
    "domain": lambda _: True,
    "kinds": list,
    "orders": list,
    "budget": lambda _: True,
    "pcost": lambda _: True,
    "loss": dict,
    "loss_value": _is_number,
    "gap": (None, _is_number),
    "status": _is_short,
    "neighbors": str,
    "records_per_person": int,
    "bases": [_is_family],
}
_LATER: dict[str, Any] = {"suboptimality": _is_number}


def plan_to_archive(plan: Plan) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The plan as a JSON header and arrays."""
    queries, blocks = workload_to_arrays(plan.workload)
    families, matrices = strategy_to_arrays(plan.strategy)
    loss, numbers = plan.loss.to_archive()
    header = queries | {
        "budget": plan.budget.to_json(),
        "pcost": plan.pcost,
        "loss": loss,
        "loss_value": plan.loss_value,
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "status": plan.status,
        "neighbors": plan.neighbors.notion,
        "records_per_person": plan.neighbors.records_per_person,
        "bases": families,
    }
    if math.isfinite(plan.suboptimality):  # files from before it was known keep their hashes
        header["suboptimality"] = plan.suboptimality
    numbers = {f"{LOSS}{name}": array for name, array in numbers.items()}
    if plan.dual_weights is not None:  # as above
        numbers[_PROOF] = plan.dual_weights
    return header, {"noise_variance": plan.noise_variances} | matrices | numbers | blocks


def save_plan(plan: Plan, path: PathLike) -> None:
    """Write a plan to one file, whole or not at all."""
    header, arrays = plan_to_archive(plan)
    write_archive(path, kind="plan", header=header, arrays=arrays)


def plan_bytes(plan: Plan) -> bytes:
    """The bytes of the file that `Plan.save` writes."""
    header, arrays = plan_to_archive(plan)
    file = io.BytesIO()
    archive_pieces(kind="plan", header=header, arrays=arrays)(file)
    return file.getvalue()


def load_plan(path: PathLike) -> Plan:
    """Read a plan that `Plan.save` wrote, and check it.

    Raises:
        FileFormatError: the file is not a plan, truncated, altered, of a newer version, or does not fit together.
        BudgetError: its noise is not positive and finite, or costs more than its budget; or a level is none.
        OSError: the file cannot be opened.

    Guarantees: the cost is recomputed from the noise and the bases, and is within the budget the file states.
    """
    return plan_from_archive(*read_archive(path, kind="plan"))


def plan_of_bytes(content: bytes) -> Plan:
    """Undo `plan_bytes`; errors as those of `load_plan`."""
    return plan_from_archive(*parse_archive(content, kind="plan"))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 of a plan's content, which links what is measured to it."""
    return content_hash(*plan_to_archive(plan))


def plan_from_archive(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Plan:
    """Undo `plan_to_archive`; errors as those of `load_plan`, also where the plan would be written in another way."""
    if header.keys() - _LATER.keys() != _FIELDS.keys():
        raise FileFormatError(f"a plan must have the fields {sorted(_FIELDS)}, got {sorted(map(str, header))[:20]}")
    for name, value in header.items():
        if not has_shape(value, (_FIELDS | _LATER)[name]):
            raise FileFormatError(f"a plan has an invalid field {name!r}: {reprlib.repr(value)}")
    noise = arrays.get(_NOISE, np.empty(0))
    workload = workload_from_arrays(header, arrays, set_limit=noise.size)
    try:
        plan = Plan(
            workload=workload,
            noise_variances=array_of(arrays, _NOISE, "<f8", (len(workload.closure),)),
            budget=Budget.from_json(header["budget"]),
            loss=_loss(header["loss"], arrays, len(workload)),
            loss_value=float(header["loss_value"]),
            gap=math.inf if header["gap"] is None else float(header["gap"]),
            status=header["status"],
            suboptimality=float(header.get("suboptimality", math.inf)),
            neighbors=Neighbors(header["neighbors"], header["records_per_person"]),
            strategy=strategy_from_arrays(workload, header["bases"], arrays),
            dual_weights=array_of(arrays, _PROOF, "<f8", (len(workload),)) if _PROOF in arrays else None,
        )
    except WorkloadError as error:
        raise FileFormatError(f"invalid workload, bases or targets in a plan: {error}") from error
    if plan.pcost != header["pcost"]:
        raise BudgetError(f"the plan states pcost {header['pcost']!r}, but its noise costs {plan.pcost!r}; plan again")
    own, held = plan_to_archive(plan)
    is_same = json.dumps(own, sort_keys=True) == json.dumps(header, sort_keys=True) and held.keys() == arrays.keys()
    if not is_same or not all(held[name] is arrays[name] or np.array_equal(held[name], arrays[name]) for name in held):
        raise FileFormatError("a plan must have the form in which it is written, and no other arrays")
    return plan


def _loss(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], queries: int) -> Loss:
    """Undo `Loss.to_archive` for so many queries, as far as a loss can be made."""
    numbers = {name.removeprefix(LOSS): array for name, array in arrays.items() if name.startswith(LOSS)}
    for name in numbers:
        array = array_of(arrays, LOSS + name, "<f8", (queries,))
        if not ((array >= 0) & (array < math.inf)).all() or not array.any():
            raise FileFormatError(f"a plan's {name} must be a finite number, at least 0, for each query, and not all 0")
    kind, words, given = fields.get("kind"), fields.get("words"), numbers.get("weights", fields.get("weights"))
    is_known = isinstance(given, np.ndarray) or given in [*RULES]
    if kind == "sum" and is_known:
        return SumOfVariances(given)  # type: ignore[arg-type]
    if kind == "max" and (is_known or given is None):
        return MaxVariance(given)
    if kind == "targets" and "margins" in numbers:
        margins = np.where(numbers["margins"] > 0, numbers["margins"], np.nan)
        return Targets(margins, fields.get("level", math.nan), fields.get("reserve", math.nan))
    if kind == "described" and _is_short(words):
        return DescribedLoss(str(words))
    raise FileFormatError(f"a plan's loss must be one of the kinds sum, max, targets and described, got {fields!r:.80}")


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
            arrays[f"{QUERIES}axes_{order}"] = block.axes
    kinds = [kind.to_json() for kind in workload.kinds]
    return {"domain": workload.domain.to_json(), "kinds": kinds, "orders": orders}, arrays


def workload_from_arrays(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, set_limit: int) -> Workload:
    """Undo `workload_to_arrays`; FileFormatError where something does not fit.

    The header may have other fields, too.  A closure of more than ``set_limit`` sets is refused before they are made.
    """
    domain = Domain.from_json(header["domain"])
    if not 0 < len(header["kinds"]) <= KIND_LIMIT:
        raise FileFormatError("a plan must list its kinds of query")
    kinds = tuple(map(_kind, header["kinds"]))
    orders = [order for order in range(len(domain) + 1) if f"{QUERIES}weights_{order}" in arrays]
    blocks = [
        _block(domain, len(kinds), arrays, order) if order in orders else block_of_order((), order)
        for order in range(max(orders, default=-1) + 1)
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
        problem = f"noise_variance has {set_limit:,} entries, fewer than the queries have subsets of attributes"
        raise FileFormatError(problem) from None
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
    attributes = array_of(arrays, f"{QUERIES}attributes_{order}", "<i4", (count, order))
    kinds = array_of(arrays, f"{QUERIES}kinds_{order}", "<i2", (count, order))
    weights = array_of(arrays, f"{QUERIES}weights_{order}", "<f8", (count,))
    axes = array_of(arrays, name, "<i4", (count, order)) if (name := f"{QUERIES}axes_{order}") in arrays else None
    if not ((attributes >= 0) & (attributes < len(domain))).all() or not ((kinds >= 0) & (kinds < kind_count)).all():
        raise FileFormatError(f"queries of order {order} name attributes or kinds that are not there")
    if not (attributes[:, 1:] > attributes[:, :-1]).all() or not _ascending(count, *attributes.T, *kinds.T):
        raise FileFormatError(f"queries of order {order} are not in order, or repeat")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise FileFormatError(f"weights of order {order} must be finite and at least 0")
    if axes is not None and not (np.sort(axes, axis=1) == np.arange(order)).all():
        raise FileFormatError(f"queries of order {order} must name each of their axes once")
    return QueryBlock(attributes, kinds, weights, axes)


def _ascending(rows: int, *columns: NDArray[Any]) -> bool:
    undecided = np.ones(max(rows - 1, 0), dtype=np.bool_)
    for column in columns:
        if (undecided & (column[1:] < column[:-1])).any():
            return False
        undecided &= column[1:] == column[:-1]
    return not undecided.any()


def array_of(arrays: Mapping[str, NDArray[Any]], name: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array of this name; FileFormatError unless it is there, and of this type and shape."""
    array = arrays.get(name)
    if array is None or array.dtype != np.dtype(dtype) or array.shape != shape:
        found = "none" if array is None else f"{array.dtype} of shape {array.shape}"
        raise FileFormatError(f"{name} must be {np.dtype(dtype)} of shape {shape}, got {found}")
    return array


#: What the names of all arrays of bases begin with.
BASES = "bases/"
_ATTRIBUTES, _VARYING = f"{BASES}of_attribute", f"{BASES}varying"
_FACTORS, _MESSAGES = f"{BASES}of_factor", f"{BASES}messages"


def strategy_to_arrays(strategy: Strategy) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """The family of each distinct basis, in order of first use, and arrays.

    The arrays are a matrix for each, and which of them every attribute has, (d,): -1 for the subtraction basis.  Where
    attributes vary, also which these are, which basis every factor of them has, (v,), and the messages.
    """
    numbers = np.concatenate([strategy.of_attribute, strategy.of_factor])
    found: dict[tuple[str, tuple[int, bytes]], int] = {}
    arrays: dict[str, NDArray[Any]] = {}
    stored = np.full(len(strategy.bases), -1, dtype=np.int32)
    for number in dict.fromkeys(numbers.tolist()):
        basis = strategy.bases[number]
        if basis.stored is not None:
            stored[number] = found.setdefault((basis.family, basis.key), len(found))
            arrays[f"{BASES}matrix_{stored[number]}"] = basis.stored
    arrays[_ATTRIBUTES] = stored[strategy.of_attribute]
    if strategy.varying.any():
        arrays[_VARYING] = np.flatnonzero(strategy.varying).astype(np.int32)
        arrays[_FACTORS], arrays[_MESSAGES] = stored[strategy.of_factor], strategy.messages
    return [family for family, _ in found], arrays


def strategy_from_arrays(workload: Workload, families: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> Strategy:
    """Undo `strategy_to_arrays`; what follows from the matrices is computed."""
    stored = [_basis(f"{BASES}matrix_{number}", family, arrays) for number, family in enumerate(families)]
    sizes, varying = np.array(workload.domain.sizes, dtype=np.int64), np.zeros(len(workload.domain), dtype=np.bool_)
    number: NDArray[Any] = np.empty(0, dtype=np.int32)
    arrays = {_VARYING: number, _FACTORS: number, _MESSAGES: np.empty(0), **arrays}
    positions = array_of(arrays, _VARYING, "<i4", (arrays[_VARYING].size,))
    messages = array_of(arrays, _MESSAGES, "<f8", (arrays[_MESSAGES].size,))
    # Steps of at least 1 from -1 up to d: positions ascend, and are in the domain.
    if not (np.diff(positions, prepend=-1, append=len(sizes)) > 0).all():
        raise FileFormatError(f"{_VARYING} must be ascending, of attributes")
    varying[positions] = True
    factors = int(varying[workload.closure.attribute_of_factor].sum()) if len(positions) else 0
    of_factor = array_of(arrays, _FACTORS, "<i4", (factors,))
    of_attribute = array_of(arrays, _ATTRIBUTES, "<i4", sizes.shape).astype(np.int64)
    # Subtraction bases are not stored: one is made for each size that occurs.
    plain, rank = np.unique(sizes[of_attribute < 0], return_inverse=True)
    of_attribute[of_attribute < 0] = len(stored) + rank
    bases = (*stored, *map(subtraction_basis, plain.tolist()))
    return Strategy(workload.closure, bases, of_attribute, varying, of_factor, messages)


def _basis(name: str, family: str, arrays: Mapping[str, NDArray[Any]]) -> Basis:
    matrix = array_of(arrays, name, "<i8", arrays[name].shape if name in arrays else ())
    try:
        if matrix.ndim != 1:
            return integer_basis(matrix, family)
        from residualplanner.more.nested.nested import nested_basis_of_array  # a door

        return nested_basis_of_array(matrix, family)
    except WorkloadError as error:
        raise FileFormatError(f"invalid {name}: {error}") from error

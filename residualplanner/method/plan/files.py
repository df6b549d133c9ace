"""Plans as files: a JSON header and plain arrays.  What a file says is checked again, never believed."""

import io
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.archive import archive_pieces, parse_archive, read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.method.losses import DescribedLoss, Loss, MaxVariance, SumOfVariances, Targets
from residualplanner.method.losses.loss import GIVEN, RULES
from residualplanner.method.plan.arrays import (
    BASES,
    QUERIES,
    array_of,
    strategy_from_arrays,
    strategy_to_arrays,
    workload_from_arrays,
    workload_to_arrays,
)
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors

#: Of the files of plans; and what the names of all arrays of losses begin with.
FORMAT_VERSION, LOSS = 6, "loss/"
_NOISE = "noise_variance"
_FIELDS = {"domain", "kinds", "orders", "budget", "loss", "loss_value", "gap", "status", "pcost"} | {
    "neighbors",
    "records_per_person",
    "bases",
}


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
    return header, {"noise_variance": plan.noise_variances} | matrices | numbers | blocks


def save_plan(plan: Plan, path: PathLike) -> None:
    """Write a plan to one file, whole or not at all."""
    header, arrays = plan_to_archive(plan)
    write_archive(path, kind="plan", version=FORMAT_VERSION, header=header, arrays=arrays)


def plan_bytes(plan: Plan) -> bytes:
    """The bytes of the file that `Plan.save` writes."""
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


def plan_of_bytes(content: bytes) -> Plan:
    """Undo `plan_bytes`; errors as those of `load_plan`."""
    return plan_from_archive(*parse_archive(content, kind="plan", version=FORMAT_VERSION))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 of a plan's content, which links what is measured to it."""
    return content_hash(*plan_to_archive(plan))


def plan_from_archive(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Plan:
    """Undo `plan_to_archive`, checking everything; errors as those of `load_plan`."""
    if set(header) - {"suboptimality"} != _FIELDS:
        raise FileFormatError(f"a plan must have the fields {sorted(_FIELDS)}, got {sorted(map(str, header))[:20]}")
    found = {
        prefix: {key: arrays[key] for key in arrays if key.startswith(prefix)} for prefix in (QUERIES, BASES, LOSS)
    }
    if set(arrays) != {_NOISE}.union(*found.values()):
        raise FileFormatError(
            "a plan must have its noise, its bases, its loss and the queries of each order, and no other arrays"
        )
    workload = workload_from_arrays(header, found[QUERIES], set_limit=arrays[_NOISE].size)
    numbers = {name.removeprefix(LOSS): array for name, array in found[LOSS].items()}
    try:
        plan = Plan(
            workload=workload,
            noise_variances=array_of(arrays, _NOISE, np.dtype("<f8"), (len(workload.closure),)),
            budget=Budget.from_json(header["budget"]),
            loss=_loss(header["loss"], numbers, len(workload)),
            loss_value=_number(header, "loss_value"),
            gap=math.inf if header["gap"] is None else _number(header, "gap"),
            status=_text(header, "status"),
            suboptimality=_number(header, "suboptimality") if "suboptimality" in header else math.inf,
            neighbors=_neighbors(header["neighbors"], header["records_per_person"]),
            strategy=strategy_from_arrays(workload, header["bases"], arrays),
        )
    except WorkloadError as error:
        raise FileFormatError(f"invalid workload, bases or targets in a plan: {error}") from error
    if plan.pcost != header["pcost"]:
        raise BudgetError(f"the plan states pcost {header['pcost']!r}, but its noise costs {plan.pcost!r}; plan again")
    return plan


def _loss(header: object, arrays: Mapping[str, NDArray[Any]], queries: int) -> Loss:
    """Undo `Loss.to_archive` for so many queries, checking everything."""
    fields = header if isinstance(header, dict) else {}
    kind, weights = fields.get("kind"), fields.get("weights")
    needed = {"weights"} if weights == GIVEN else {"margins"} if kind == "targets" else set()
    if set(arrays) != needed:
        raise FileFormatError("a plan's loss must have the weights or targets that it names, and no other arrays")
    for name, array in arrays.items():
        if array.dtype != np.dtype("<f8") or array.shape != (queries,) or not (array >= 0).all() or not array.any():
            raise FileFormatError(f"a plan's {name} must be a number, at least 0, for each query, and not all 0")
        if not np.isfinite(array).all():
            raise FileFormatError(f"a plan's {name} must be finite")
    if kind == "sum" and set(fields) == {"kind", "weights"} and weights in (*RULES, GIVEN):
        return SumOfVariances(arrays.get("weights", weights))
    if kind == "max" and set(fields) == {"kind", "weights"} and weights in (*RULES, GIVEN, None):
        return MaxVariance(arrays.get("weights", weights))
    if kind == "targets" and set(fields) == {"kind", "level", "reserve"}:
        try:
            return Targets(
                np.where(arrays["margins"] > 0, arrays["margins"], np.nan), fields["level"], fields["reserve"]
            )
        except BudgetError as error:
            raise FileFormatError(f"invalid targets in a plan: {error}") from error
    words = fields.get("words")
    if kind == "described" and set(fields) == {"kind", "words"} and isinstance(words, str) and len(words) <= 1000:
        return DescribedLoss(words)
    raise FileFormatError(
        f"a plan's loss must be one of the kinds sum, max, targets and described, got {header!r:.200}"
    )


def _neighbors(notion: Any, records_per_person: Any) -> Neighbors:
    try:
        return Neighbors(notion if isinstance(notion, str) else "", records_per_person)  # type: ignore[arg-type]
    except BudgetError as error:
        raise FileFormatError(f"invalid neighbors in a plan: {error}") from error


def _text(header: Mapping[str, Any], name: str) -> str:
    value = header[name]
    if not isinstance(value, str) or len(value) > 1000:
        raise FileFormatError(f"a plan's {name} must be a short string")
    return value


def _number(header: Mapping[str, Any], name: str) -> float:
    value = header[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
        raise FileFormatError(f"a plan's {name} must be a number, at least 0 and not too large")
    return float(value)

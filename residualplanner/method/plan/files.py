"""Plans as files: a JSON header and plain arrays.  What a file says is checked again, never believed."""

import io
import json
import math
import reprlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.archive import archive_pieces, parse_archive, read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import has_shape
from residualplanner.ground.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.method.losses import DescribedLoss, Loss, MaxVariance, SumOfVariances, Targets
from residualplanner.method.losses.loss import RULES
from residualplanner.method.plan.arrays import (
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
        BudgetError: its noise is not positive and finite, or costs more than its budget; or a level is none.
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
        )
    except WorkloadError as error:
        raise FileFormatError(f"invalid workload, bases or targets in a plan: {error}") from error
    if plan.pcost != header["pcost"]:
        raise BudgetError(f"the plan states pcost {header['pcost']!r}, but its noise costs {plan.pcost!r}; plan again")
    own, held = plan_to_archive(plan)
    is_same = json.dumps(own, sort_keys=True) == json.dumps(header, sort_keys=True) and held.keys() == arrays.keys()
    if not is_same or not all(np.array_equal(held[name], arrays[name]) for name in held):
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

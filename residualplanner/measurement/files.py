"""Measurements as files: the plan, the residual answers, and how the noise was drawn.  What a file says is checked.

Reads: a measurement, or a file somebody hands over.  Gives: a file, or a Measurement that fits its plan.
"""

from collections.abc import Mapping

from residualplanner._archive import content_hash, read_archive, write_archive
from residualplanner._whole import PathLike
from residualplanner.errors import FileFormatError
from residualplanner.measurement.measurement import Measurement, NoiseRecord, ResidualAnswers, groups_of_plan
from residualplanner.plan import plan_from_archive, plan_to_archive

FORMAT_VERSION = 1

_FIELDS = {"plan", "plan_sha256", "noise"}
_PLAN = "plan/"


def save_measurement(measurement: Measurement, path: PathLike) -> None:
    """Write ``measurement`` and its plan to one file, whole or not at all."""
    plan, plan_arrays = plan_to_archive(measurement.plan)
    noise = measurement.noise
    header = {
        "plan": plan,
        "plan_sha256": content_hash(plan, plan_arrays),
        "noise": {"kind": noise.kind, "randomness": noise.randomness, "seed": noise.seed, "guarantee": noise.guarantee},
    }
    arrays = {_PLAN + name: array for name, array in plan_arrays.items()}
    arrays["residuals"] = measurement.residuals.values
    write_archive(path, kind="measurement", version=FORMAT_VERSION, header=header, arrays=arrays)


def load_measurement(path: PathLike) -> Measurement:
    """Read a measurement that `Measurement.save` wrote, and check it.

    Raises:
        FileFormatError: the file is not a measurement, truncated, altered, too new, or does not fit together.
        BudgetError: the noise of its plan costs more than its budget.
        OSError: the file cannot be opened.
    """
    header, arrays = read_archive(path, kind="measurement", version=FORMAT_VERSION)
    if set(header) != _FIELDS or not isinstance(header["plan"], dict):
        raise FileFormatError(f"a measurement must have the fields {sorted(_FIELDS)}")
    plan_arrays = {name.removeprefix(_PLAN): array for name, array in arrays.items() if name.startswith(_PLAN)}
    if set(arrays) != {"residuals", *(_PLAN + name for name in plan_arrays)}:
        raise FileFormatError("a measurement must have residuals and the arrays of its plan, and no others")
    if content_hash(header["plan"], plan_arrays) != header["plan_sha256"]:
        raise FileFormatError("the plan in this measurement is not the one that was measured; measure again")
    plan = plan_from_archive(header["plan"], plan_arrays)
    return Measurement(plan, ResidualAnswers(groups_of_plan(plan), arrays["residuals"]), _noise(header["noise"]))


def _noise(told: object) -> NoiseRecord:
    if not isinstance(told, Mapping) or set(told) != {"kind", "randomness", "seed", "guarantee"}:
        raise FileFormatError("a measurement must say of what kind its noise is, and where it came from")
    seed = told["seed"]
    if seed is not None and (type(seed) is not int or seed < 0):
        raise FileFormatError("a seed must be a whole number, at least 0, or absent")
    record = NoiseRecord("gaussian", seed)
    if (told["kind"], told["randomness"], told["guarantee"]) != (record.kind, record.randomness, record.guarantee):
        raise FileFormatError("what a measurement says about its noise contradicts itself; measure again")
    return record

"""Measurements as files: the plan, the noisy answers, and how the noise was drawn.  What a file says is checked.

Reads: a measurement, or a file somebody hands over.  Gives: a file, or a Measurement that fits its plan.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from residualplanner._archive import content_hash, read_archive, write_archive
from residualplanner._atomic import PathLike
from residualplanner._checks import IntArray
from residualplanner._words import fraction_text
from residualplanner.discrete_gaussian import InsecureTestBits, OperatingSystemBits
from residualplanner.errors import BudgetError, FileFormatError, memory_for
from residualplanner.ledger import TEXT_LIMIT
from residualplanner.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.measurement.lattice import lattice_divisors
from residualplanner.measurement.measurement import Measurement, groups_of_plan
from residualplanner.measurement.noise_record import NoiseRecord, package_versions
from residualplanner.measurement.precision import (
    measured_cost,
    precision_of,
    precision_rule,
    require_affordable,
    require_drawable,
)
from residualplanner.measurement.wide_integers import wide_from_words, wide_to_words
from residualplanner.plan import Plan, plan_from_archive, plan_to_archive

FORMAT_VERSION = 5

_FIELDS = {"plan", "plan_sha256", "noise"}
_PLAN = "plan/"
_ANSWERS = {"discrete": {"integers", "wide_groups", "wide_integers"}, "gaussian": {"residuals"}}
_SOURCES = {"discrete": (OperatingSystemBits.mark, InsecureTestBits.mark), "gaussian": (OperatingSystemBits.mark,)}
_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z+]+)+", re.ASCII)


def save_measurement(measurement: Measurement, path: PathLike) -> None:
    """Write ``measurement`` and its plan to one file, whole or not at all."""
    plan, plan_arrays = plan_to_archive(measurement.plan)
    header = {
        "plan": plan,
        "plan_sha256": content_hash(plan, plan_arrays),
        "noise": noise_to_json(measurement.noise, measurement.plan),
    }
    arrays = {_PLAN + name: array for name, array in plan_arrays.items()} | _answer_arrays(measurement.residuals)
    write_archive(path, kind="measurement", version=FORMAT_VERSION, header=header, arrays=arrays)


def answers_hash(measurement: Measurement) -> str:
    """The SHA-256 of the answers of a measurement, of whatever plan: 64 hexadecimal digits."""
    return content_hash({}, _answer_arrays(measurement.residuals))


@memory_for("to read this measurement; use a machine with more memory")
def load_measurement(path: PathLike, *, mapped: bool = False) -> Measurement:
    """Read a measurement that `Measurement.save` wrote, and check it.

    Args:
        path: the file.
        mapped: leave the answers on disk, where they are larger than memory or few of them are needed; the file must
            stay as it is for as long as the measurement, or a release of it, is used.

    Raises:
        FileFormatError: the file is not a measurement, truncated, altered, of another version, or does not fit.
        BudgetError: the noise of its plan costs more than its budget, or another amount than the file states.
        OSError: the file cannot be opened.

    Guarantees: the exact cost is computed anew from the plan.
    """
    header, arrays = read_archive(path, kind="measurement", version=FORMAT_VERSION, mapped=mapped)
    if set(header) != _FIELDS or not isinstance(header["plan"], dict):
        raise FileFormatError(f"a measurement must have the fields {sorted(_FIELDS)}")
    plan_arrays = {name.removeprefix(_PLAN): array for name, array in arrays.items() if name.startswith(_PLAN)}
    if content_hash(header["plan"], plan_arrays) != header["plan_sha256"]:
        raise FileFormatError("the plan in this measurement is not the one that was measured; measure again")
    plan = plan_from_archive(header["plan"], plan_arrays)
    noise = noise_from_json(header["noise"], plan)
    if set(arrays) != _ANSWERS[noise.kind] | {_PLAN + name for name in plan_arrays}:
        raise FileFormatError("a measurement must have its answers and the arrays of its plan, and no others")
    return Measurement(plan, _answers(plan, arrays, noise), noise, Path(path) if mapped else None)


def noise_to_json(noise: NoiseRecord, plan: Plan) -> dict[str, Any]:
    """All that is said of the noise that a plan was measured with, as JSON values."""
    cost = None if noise.pcost is None else fraction_text(noise.pcost)
    return {
        "kind": noise.kind,
        "randomness": noise.randomness,
        "source": noise.source,
        "seed": noise.seed,
        "pcost": cost,
        "precision": None if cost is None else precision_rule(plan),
        "neighbors": noise.neighbors,
        "unlimited_because": noise.unlimited_because,
        "guarantee": noise.guarantee,
        "package_versions": dict(noise.versions),
    }


def _answer_arrays(residuals: IntegerResiduals | FloatResiduals) -> dict[str, Any]:
    if isinstance(residuals, FloatResiduals):
        return {"residuals": residuals.values}
    wide_groups, wide_integers = wide_to_words(residuals.wide)
    return {"integers": residuals.integers, "wide_groups": wide_groups, "wide_integers": wide_integers}


def _answers(plan: Plan, arrays: Mapping[str, Any], noise: NoiseRecord) -> IntegerResiduals | FloatResiduals:
    groups = groups_of_plan(plan)
    if noise.kind == "gaussian":
        return FloatResiduals(groups, arrays["residuals"])
    wide = wide_from_words(groups, arrays["wide_groups"], arrays["wide_integers"])
    integers: IntArray = arrays["integers"]
    divisors = lattice_divisors(groups, precision_of(plan.noise_variances), plan.neighbors)
    return IntegerResiduals(groups, divisors, integers, wide)


def noise_from_json(told: object, plan: Plan) -> NoiseRecord:
    """Undo `noise_to_json`, if every word is true of the plan: the exact cost and all sentences are made anew.

    Raises:
        FileFormatError: a field is missing, superfluous, of another type, or contradicts the others or the plan.
        BudgetError: the exact cost is another than the stated one, or more than the plan's budget.
    """
    if not isinstance(told, Mapping) or set(told) != set(noise_to_json(NoiseRecord(), plan)):
        raise FileFormatError("a measurement must say of what kind its noise is, and where it came from")
    kind, seed, source = told["kind"], told["seed"], told["source"]
    if seed is not None and (type(seed) is not int or seed < 0):
        raise FileFormatError("a seed must be an integer, at least 0, or absent")
    if (
        kind not in ("discrete", "gaussian")
        or source not in _SOURCES[kind]
        or (kind == "discrete" and seed is not None)
    ):
        raise FileFormatError("what a measurement says about its noise contradicts itself; measure again")
    cost = None
    if kind == "discrete":
        precision = precision_of(plan.noise_variances)
        require_drawable(precision)
        cost = measured_cost(plan, precision)
        require_affordable(plan, cost)
        if told["pcost"] != fraction_text(cost):
            raise BudgetError(
                f"the measurement states the exact cost {str(told['pcost'])[:80]!r}, but its plan's noise costs "
                f"{fraction_text(cost)[:80]!r}; measure again"
            )
    reason = told["unlimited_because"]
    if not isinstance(reason, str) or len(reason) > TEXT_LIMIT or not reason.isprintable():
        raise FileFormatError("the reason why a ledger has no budget must be a short text, or empty")
    record = NoiseRecord(kind, seed, source, cost, plan.neighbors.words, _versions(told["package_versions"]), reason)
    if dict(told) != noise_to_json(record, plan):
        raise FileFormatError("what a measurement says about its noise contradicts itself; measure again")
    return record


def _versions(told: object) -> tuple[tuple[str, str], ...]:
    names = [name for name, _ in package_versions()]
    if not isinstance(told, Mapping) or set(told) != set(names):
        raise FileFormatError(f"a measurement must give the versions of {names}")
    if not all(
        isinstance(told[name], str) and len(told[name]) <= 50 and _VERSION.fullmatch(told[name]) for name in names
    ):
        raise FileFormatError("the versions of packages must be texts such as '1.26.4'")
    return tuple((name, told[name]) for name in names)

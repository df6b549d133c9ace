"""The manifest of a release: how its tables were made and what that cost, as it is written and as it is checked.

Hashes find accidents; whoever edits a manifest can edit the hashes in it.  So no sentence about privacy is read from a
file: what follows from the plan is computed again, and a file that says anything else is refused.
"""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from residualplanner.gate.measurement.averages import noise_of_release
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.errors import FileFormatError, ResidualPlannerError
from residualplanner.ground.json import json_text
from residualplanner.ground.version import __version__
from residualplanner.method.bases.basis import basis_codes
from residualplanner.method.plan.files import plan_bytes, plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.sidecar import Description

FORMAT, FORMAT_VERSION = "residualplanner/release", 8
#: The plan, beside the manifest.
PLAN_FILE = "release.plan"


def manifest_bytes(described: Description, hashes: Mapping[str, str], count: int) -> bytes:
    """What the release is and what it cost; never a seed, a count of records, a time or a machine.

    Args:
        described: the release as it is written.
        hashes: the SHA-256 of each file that is not a table.
        count: how many tables are written.
    """
    import pyarrow as pa

    plan, noise = described.plan, described.noise
    manifest = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "package_versions": {
            "residualplanner": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "pyarrow": pa.__version__,
        },
        "plan": about_plan(plan),
        "noise": noise.published(plan),
        "tables": {
            "count": count,
            "format": described.file_format,
            "profile": described.profile.name,
            "conf_level": described.level,
            **described.about_product,
        },
        "files": dict(hashes),
    }
    return json.dumps(manifest, allow_nan=False, indent=2).encode("ascii") + b"\n"


def plan_files(described: Description) -> dict[str, bytes]:
    """The plan of a release as a file, and where there were several measurements those of each."""
    measured = (plan_bytes(plan) for plan, _ in described.noise.measured)
    return {PLAN_FILE: plan_bytes(described.plan)} | {
        _measured_file(number): content for number, content in enumerate(measured, 1)
    }


def measured_files(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the plans of several measurements; none where there was one.

    Raises:
        FileFormatError: the manifest does not say what the noise was.
    """
    noise = manifest["noise"]
    if not isinstance(noise, Mapping) or not isinstance(noise.get("measurements", []), list):
        raise FileFormatError("it does not say what the noise was")
    return [_measured_file(number) for number, _ in enumerate(noise.get("measurements", []), 1)]


def about_plan(plan: Plan) -> dict[str, Any]:
    """The entry of a manifest on the plan: it follows from the plan, and is compared with it on reading."""
    about = {
        "sha256": plan_hash(plan),
        "domain": plan.domain.to_json(),
        "budget": plan.budget.to_json(),
        "pcost": plan.pcost,
        "neighbors": plan.neighbors.notion,
        "records_per_person": plan.neighbors.records_per_person,
        "protected_change": plan.neighbors.words,
        "loss": plan.loss.words,
        "loss_value": plan.loss_value,
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "status": plan.status,
        "kinds": [kind.to_json() for kind in plan.workload.kinds],
        "bases": {name: _basis(plan, attribute) for attribute, name in enumerate(plan.domain.names)},
    }
    return about if plan.targets is None else about | {"target_level": plan.targets.level}


def noise_of_manifest(manifest: Mapping[str, Any], plan: Plan, plans: Sequence[Plan]) -> NoiseRecord:
    """How the noise was drawn, if what the manifest says of plan and noise is true of the plan.

    Args:
        manifest: from a folder.
        plan: of the release.
        plans: of its measurements, where there are several; in the files of `measured_files`.

    Raises:
        FileFormatError: a field says something else, or is missing or superfluous.
    """
    stated, true = manifest["plan"], about_plan(plan)
    if not isinstance(stated, Mapping):
        raise FileFormatError(f"it does not say what the plan is, which {PLAN_FILE} holds")
    wrong = [name for name in (*true, *stated) if not _are_equal(stated, true, name)]
    if wrong:
        raise FileFormatError(f"it says of the plan's {wrong[0]!r} something other than {PLAN_FILE} beside it")
    try:
        return noise_of_release(manifest["noise"], plan, plans)
    except ResidualPlannerError as error:
        raise FileFormatError(f"what it says of the noise is not true of {PLAN_FILE} beside it: {error}") from None


def require_true_metadata(metadata: Mapping[str, Any], described: Description) -> None:
    """Raise FileFormatError where metadata say of plan, privacy or tables something other than follows from the plan.

    Only words for people, such as what a column means, may be others.
    """
    true = described.metadata()
    tables, stated = true["tables"], metadata["tables"]
    wrong = [name for name in ("privacy", "plan_sha256", "profile") if not _are_equal(metadata, true, name)]
    entries = ("attributes", "conf_level", *described.about_product)
    wrong += [name for name in entries if not _are_equal(stated, tables, name)]
    if [column["name"] for column in stated["columns"]] != [column["name"] for column in tables["columns"]]:
        wrong.append("columns")
    if wrong:
        raise FileFormatError(f"its {wrong[0]!r} is not what follows from {PLAN_FILE} beside it")


def _measured_file(number: int) -> str:
    """The name of the plan of one of several measurements, counted from 1."""
    return f"measured-{number}.plan"


def _basis(plan: Plan, attribute: int) -> dict[str, Any]:
    """The basis of an attribute: its family, answers and cost; or how many bases it has, if it varies."""
    strategy = plan.strategy
    basis = strategy.of_attributes[attribute]
    about = {"family": basis.family, "answers": basis.answers}
    if not strategy.varying[attribute]:
        return about | {"pcost": str(basis.pcost)}
    every = [strategy.bases[number] for number in strategy.numbers_of(attribute)]
    return about | {"bases": len(set(basis_codes(every).tolist()))}


def _are_equal(stated: Mapping[str, Any], true: Mapping[str, Any], name: str) -> bool:
    """Whether both have the field with one value; compared as JSON, since True is not 1."""
    return name in stated and name in true and json_text(stated[name]) == json_text(true[name])

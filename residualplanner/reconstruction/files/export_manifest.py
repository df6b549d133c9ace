"""What a release says of itself: how its tables were made, and what that cost.

Reads: a release.  Gives: the bytes of its manifest.
"""

import json
import math
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from residualplanner._version import __version__
from residualplanner.bases import basis_codes
from residualplanner.measurement import noise_to_json
from residualplanner.plan import Plan, plan_hash
from residualplanner.queries import kind_to_json

if TYPE_CHECKING:
    from residualplanner.reconstruction.release import Release

FORMAT, FORMAT_VERSION = "residualplanner/release", 5
#: The plan, beside the manifest.
PLAN_FILE = "release.plan"


def manifest_bytes(
    release: "Release", file_format: str, *, profile: str, level: float, hashes: Mapping[str, str]
) -> bytes:
    """What the release is and what it cost; never a seed, a count of records, a time or a machine."""
    import pyarrow as pa

    plan, noise = release.plan, release.measurement.noise
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
        "noise": {name: value for name, value in noise_to_json(noise, plan).items() if name != "seed"},
        "tables": {"count": len(release), "format": file_format, "profile": profile, "conf_level": level},
        "files": dict(hashes),
    }
    return json.dumps(manifest, allow_nan=False, indent=2).encode("ascii") + b"\n"


def about_plan(plan: Plan) -> dict[str, Any]:
    """What a manifest says of the plan: all of it follows from the plan, and is compared with it on reading."""
    told = {
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
        "kinds": [kind_to_json(kind) for kind in plan.workload.kinds],
        "bases": {name: _measured(plan, attribute) for attribute, name in enumerate(plan.domain.names)},
    }
    return told if plan.targets is None else told | {"target_level": plan.targets.level}


def _measured(plan: Plan, attribute: int) -> dict[str, Any]:
    """The basis of an attribute: its family, answers and cost; or how many bases it has, where sets have their own."""
    strategy = plan.strategy
    basis = strategy.of_attributes[attribute]
    told = {"family": basis.family, "answers": basis.answers}
    if not strategy.varying[attribute]:
        return told | {"pcost": str(basis.pcost)}
    mine = [strategy.bases[number] for number in strategy.numbers_of(attribute)]
    return told | {"bases": len(set(basis_codes(mine).tolist()))}

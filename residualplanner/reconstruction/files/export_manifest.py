"""The manifest of a release: how its tables were made, and what that cost.

Reads: a release as it is written.  Gives: the bytes of its manifest.
"""

import json
import math
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy

from residualplanner._version import __version__
from residualplanner.bases import basis_codes
from residualplanner.measurement import noise_to_json
from residualplanner.plan import Plan, plan_hash
from residualplanner.queries import kind_to_json
from residualplanner.reconstruction.files.sidecar import Description

FORMAT, FORMAT_VERSION = "residualplanner/release", 5
#: The plan, beside the manifest.
PLAN_FILE = "release.plan"


def manifest_bytes(described: Description, hashes: Mapping[str, str]) -> bytes:
    """What the release is and what it cost; never a seed, a count of records, a time or a machine.

    Args:
        described: the release as it is written.
        hashes: the SHA-256 of each file that is not a table.
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
        "noise": {name: value for name, value in noise_to_json(noise, plan).items() if name != "seed"},
        "tables": {
            "count": len(plan.workload),
            "format": described.file_format,
            "profile": described.profile.name,
            "conf_level": described.level,
        },
        "files": dict(hashes),
    }
    return json.dumps(manifest, allow_nan=False, indent=2).encode("ascii") + b"\n"


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
        "loss": plan.loss,
        "loss_value": plan.loss_value,
        "gap": plan.gap if math.isfinite(plan.gap) else None,
        "status": plan.status,
        "kinds": [kind_to_json(kind) for kind in plan.workload.kinds],
        "bases": {name: _measured(plan, attribute) for attribute, name in enumerate(plan.domain.names)},
    }
    return about if plan.targets is None else about | {"target_level": plan.targets.level}


def _measured(plan: Plan, attribute: int) -> dict[str, Any]:
    """The basis of an attribute: its family, answers and cost; or how many bases it has, if it varies."""
    strategy = plan.strategy
    basis = strategy.of_attributes[attribute]
    about = {"family": basis.family, "answers": basis.answers}
    if not strategy.varying[attribute]:
        return about | {"pcost": str(basis.pcost)}
    every = [strategy.bases[number] for number in strategy.numbers_of(attribute)]
    return about | {"bases": len(set(basis_codes(every).tolist()))}

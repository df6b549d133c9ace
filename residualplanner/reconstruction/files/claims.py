"""The claims of the files of a release about its plan and its noise, compared with the plan in the same folder.

Reads: a manifest and metadata that somebody hands over, a plan that has been checked.  Gives: NoiseRecord.
Hashes find accidents; whoever edits a manifest can edit the hashes in it.  So no sentence about privacy is read from a
file: what follows from the plan is computed again, and a file that says anything else is refused.
"""

from collections.abc import Mapping
from typing import Any

from residualplanner._json import json_text
from residualplanner.errors import FileFormatError, ResidualPlannerError
from residualplanner.measurement import NoiseRecord, noise_from_json
from residualplanner.plan import Plan
from residualplanner.reconstruction.files.export_manifest import PLAN_FILE, about_plan
from residualplanner.reconstruction.files.sidecar import Description

_SEEDED = NoiseRecord(seed=0).randomness


def noise_of_manifest(manifest: Mapping[str, Any], plan: Plan) -> NoiseRecord:
    """How the noise was drawn, if what the manifest says of plan and noise is true of the plan.

    Raises:
        FileFormatError: a field says something else, or is missing or superfluous.
    """
    stated, true = manifest["plan"], about_plan(plan)
    if not isinstance(stated, Mapping):
        raise FileFormatError(f"it does not say what the plan is, which {PLAN_FILE} holds")
    wrong = [name for name in (*true, *stated) if not _are_equal(stated, true, name)]
    if wrong:
        raise FileFormatError(f"it says of the plan's {wrong[0]!r} something else than {PLAN_FILE} beside it")
    noise = manifest["noise"]
    if not isinstance(noise, Mapping) or "seed" in noise:
        raise FileFormatError("it does not say what the noise was")
    # No release holds its seed, and nothing depends on which it was: any number will do.
    seed = 0 if noise.get("randomness") == _SEEDED else None
    try:
        return noise_from_json({**noise, "seed": seed}, plan)
    except ResidualPlannerError as error:
        raise FileFormatError(f"what it says of the noise is not true of {PLAN_FILE} beside it: {error}") from None


def require_true_metadata(metadata: Mapping[str, Any], described: Description) -> None:
    """Raise FileFormatError where metadata say of plan, privacy or tables something else than follows from the plan.

    Only words for people, such as what a column means, may be others.
    """
    true = described.metadata()
    tables, stated = true["tables"], metadata["tables"]
    wrong = [name for name in ("privacy", "plan_sha256", "profile") if not _are_equal(metadata, true, name)]
    wrong += [name for name in ("attributes", "conf_level") if not _are_equal(stated, tables, name)]
    if [column["name"] for column in stated["columns"]] != [column["name"] for column in tables["columns"]]:
        wrong.append("columns")
    if wrong:
        raise FileFormatError(f"its {wrong[0]!r} is not what follows from {PLAN_FILE} beside it")


def _are_equal(stated: Mapping[str, Any], true: Mapping[str, Any], name: str) -> bool:
    """Whether both have the field with one value; compared as JSON, since True is not 1."""
    return name in stated and name in true and json_text(stated[name]) == json_text(true[name])

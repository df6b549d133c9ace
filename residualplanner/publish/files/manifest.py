"""The files of a release beside its tables: manifest, plans and noisy answers, as they are written and checked.

Hashes find accidents; whoever edits a manifest can edit the hashes in it.  So no sentence about privacy is read from a
file: what follows from the plan is computed again, and a file that says anything else is refused.  A seed is in no
folder.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.averages import as_one, noise_of_release
from residualplanner.gate.measurement.measurement import Measurement, NoisyAnswers, load_measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord, package_versions
from residualplanner.ground.archive import HEADER_LIMIT
from residualplanner.ground.checks import limited_bytes
from residualplanner.ground.errors import FileFormatError, ResidualPlannerError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.margins import require_level
from residualplanner.ground.stores import AnyPath, local_file
from residualplanner.method.bases.basis import basis_codes
from residualplanner.method.plan.files import plan_bytes, plan_hash, plan_of_bytes
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.comparisons import comparison_forms_of_json
from residualplanner.publish.files.formats import format_names
from residualplanner.publish.files.sidecar import Description
from residualplanner.release.product import product_of_json
from residualplanner.release.profiles import PROFILES
from residualplanner.release.quality import Publication, quality_of_json

_FORMAT = "residualplanner/release"
#: The plan, beside the manifest.
PLAN_FILE = "release.plan"
#: What to do about a folder that is damaged.
AGAIN = "copy the folder again, or save the release again"

Checked = TypeVar("Checked")


def checked(path: AnyPath, check: Callable[[], Checked]) -> Checked:
    """The result of a check of a file; a refusal names the file."""
    try:
        return check()
    except ResidualPlannerError as error:
        raise FileFormatError(f"{path}: {error}; {AGAIN}") from None


def content_of(folder: AnyPath, name: str, digest: object) -> bytes:
    """The bytes of a file of the folder, after its hash has been compared."""
    path = folder / name
    if not path.is_file():
        raise FileFormatError(f"{path} is missing; {AGAIN}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the manifest or index; {AGAIN}")
    return content


def _json_of(path: AnyPath, content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; {AGAIN}") from None
    return checked(path, partial(parse_json, text))


def manifest_bytes(described: Description, hashes: Mapping[str, str], count: int) -> bytes:
    """What a release of so many tables is and what it cost; never a seed, a count of records, a time or a machine."""
    import pyarrow as pa

    plan, noise = described.plan, described.noise
    manifest = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "package_versions": {**dict(package_versions()), "pyarrow": pa.__version__},
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
        "suboptimality": plan.suboptimality if math.isfinite(plan.suboptimality) else None,
        "status": plan.status,
        "kinds": [kind.to_json() for kind in plan.workload.kinds],
        "bases": {name: _basis(plan, attribute) for attribute, name in enumerate(plan.domain.names)},
    }
    return about if plan.targets is None else about | {"target_level": plan.targets.level}


def _basis(plan: Plan, attribute: int) -> dict[str, Any]:
    strategy = plan.strategy
    basis = strategy.of_attributes[attribute]
    about = {"family": basis.family, "answers": basis.answers}
    if not strategy.varying[attribute]:
        return about | {"pcost": str(basis.pcost)}
    every = [strategy.bases[number] for number in strategy.numbers_of(attribute)]
    return about | {"bases": len(set(basis_codes(every).tolist()))}


def read_manifest(home: AnyPath) -> dict[str, Any]:
    """The content of the manifest of a folder, of this version."""
    path = home / "manifest.json"
    if not path.is_file():
        raise FileFormatError(f"{home} has no manifest.json; name the folder of a release")
    manifest = _json_of(path, limited_bytes(path, HEADER_LIMIT, name=path, remedy=AGAIN))
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise FileFormatError(f"{path} is not the manifest of a release; name the folder of one")
    versions = manifest.get("package_versions")
    made_by = versions.get("residualplanner") if isinstance(versions, dict) else None
    require_version(manifest.get("version"), made_by, kind="release", where=f"{path}: ")
    return manifest


def read_description(home: AnyPath, manifest: Mapping[str, Any]) -> tuple[Description, Mapping[str, Any]]:
    """How the release in a folder was written, if what is said of it is true of its plan, and its metadata."""
    hashes, about, path = manifest["files"], manifest["tables"], home / "manifest.json"
    several = manifest["noise"].get("measurements", [])
    names = (PLAN_FILE, *(f"measured-{number}.plan" for number, _ in enumerate(several, 1)))
    contents = ((name, content_of(home, name, hashes[name])) for name in names)
    plan, *plans = (checked(home / name, partial(plan_of_bytes, content)) for name, content in contents)
    noise = checked(path, partial(_noise_of, manifest, plan, plans))
    file_format, level = about["format"], about["conf_level"]
    if file_format not in format_names() or about["profile"] not in PROFILES or not isinstance(level, float):
        raise LookupError
    require_level(level)
    product = checked(path, partial(product_of_json, about.get("product")))
    with_unbiased = about.get("with_unbiased", False)
    if not isinstance(with_unbiased, bool):
        raise LookupError
    quality = checked(path, partial(quality_of_json, about.get("quality")))
    path = home / "metadata.json"
    metadata = _json_of(path, content_of(home, "metadata.json", hashes["metadata.json"]))
    publication = Publication(**metadata.get("publication", {}))
    profile = PROFILES[about["profile"]].of(product, with_unbiased=with_unbiased).graded(quality)
    comparisons = checked(path, partial(comparison_forms_of_json, metadata.get("comparisons", [])))
    described = Description(plan, noise, file_format, profile, level, publication, comparisons)
    checked(path, partial(_require_true_metadata, metadata, described))
    return described, metadata


def _noise_of(manifest: Mapping[str, Any], plan: Plan, plans: Sequence[Plan]) -> NoiseRecord:
    """How the noise was drawn, if what is said of it, and of the plan or of several ``plans``, is true of the plan."""
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


def _require_true_metadata(metadata: Mapping[str, Any], described: Description) -> None:
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


def _are_equal(stated: Mapping[str, Any], true: Mapping[str, Any], name: str) -> bool:
    """Whether both have the field with one value; compared as JSON, since True is not 1."""
    return name in stated and name in true and json_text(stated[name]) == json_text(true[name])


def files_beside(described: Description, about_statistics: Mapping[str, Any]) -> dict[str, bytes]:
    """By their names the plan of a release, where there were several measurements those of each, and the metadata."""
    measured = enumerate((plan_bytes(plan) for plan, _ in described.noise.measured), 1)
    metadata = described.metadata() | dict(about_statistics)
    return {
        PLAN_FILE: plan_bytes(described.plan),
        **{f"measured-{number}.plan": content for number, content in measured},
        "metadata.json": json.dumps(metadata, indent=1).encode("ascii") + b"\n",
    }


def measurement_names(noise: NoiseRecord) -> tuple[str, ...]:
    """The names of the files of a release's measurement, or of all its measurements, in their order."""
    names = (f"measured-{number}.measurement" for number, _ in enumerate(noise.measured, 1))
    return tuple(names) or ("release.measurement",)


def save_measurements(answers: NoisyAnswers, folder: AnyPath) -> dict[str, str]:
    """Write the measurements of noisy answers to new files in a folder; the hash of each."""
    found = {}
    for name, measurement in zip(measurement_names(answers.noise), answers.measurements, strict=True):
        path = folder / name
        with open(path, "x+b") if isinstance(path, Path) else path.writing() as file:
            measurement.published.write(file)
            file.flush()
            if isinstance(path, Path):
                os.fsync(file.fileno())  # what was paid for is on the disk before a copy beside the folder is removed
            file.seek(0)
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


@dataclass(frozen=True, eq=False)
class SavedAnswers:
    """The noisy answers in the folder of a release, whose files are opened when they are first needed."""

    plan: Plan
    noise: NoiseRecord  # as far as the plan can tell
    folder: AnyPath
    hashes: Mapping[str, Any]  # by the names of files

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """One, or several that were averaged; FileFormatError where a file is not what the manifest is about."""
        expected = self.noise.measured or ((self.plan, self.noise),)
        pairs = zip(measurement_names(self.noise), expected, strict=True)
        return tuple(_opened(self.folder / name, self.hashes.get(name), *own) for name, own in pairs)

    @property
    def residuals(self) -> Residuals:
        """The answers."""
        return self._as_one.residuals

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""
        return self._as_one.answers_sha256

    def with_residuals(self, residuals: Residuals) -> NoisyAnswers:
        """The same with other answers."""
        return self._as_one.with_residuals(residuals)

    @cached_property
    def _as_one(self) -> NoisyAnswers:
        return as_one(self.measurements)


def _opened(path: AnyPath, digest: object, plan: Plan, noise: NoiseRecord) -> Measurement:
    if not path.is_file():
        raise FileFormatError(f"{path} is missing; {AGAIN}")
    with local_file(path) as at, open(at, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the manifest; {AGAIN}")
    found = checked(path, partial(load_measurement, path, mapped=True))
    said = [json_text(each.published(plan)) for each in (found.noise, noise)]
    if plan_hash(found.plan) != plan_hash(plan) or said[0] != said[1]:
        raise FileFormatError(f"{path} is another measurement than {PLAN_FILE} and the manifest are about; {AGAIN}")
    return found

"""The noisy answers in the folder of a release: whoever has its tables can make all others that follow.

A seed is in no folder.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from residualplanner.gate.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.gate.measurement.combined import NoisyAnswers, as_one
from residualplanner.gate.measurement.measurement import Measurement, load_measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import json_text
from residualplanner.ground.stores import AnyPath, local_file
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.checked_files import AGAIN, checked
from residualplanner.publish.files.manifest import PLAN_FILE


def measurement_names(noise: NoiseRecord) -> tuple[str, ...]:
    """The names of the files of a release's measurement, or of all its measurements, in their order."""
    several = len(noise.measured)
    return tuple(f"measured-{number}.measurement" for number in range(1, several + 1)) or ("release.measurement",)


def save_measurements(answers: NoisyAnswers, folder: AnyPath) -> dict[str, str]:
    """Write the measurements of noisy answers to files in a folder; the hash of each."""
    found = {}
    for name, measurement in zip(measurement_names(answers.noise), answers.measurements, strict=True):
        found[name] = _write(measurement.published, folder / name)
    return found


@dataclass(frozen=True, eq=False)
class SavedAnswers:
    """The noisy answers in the folder of a release, whose files are opened when they are first needed.

    Attributes:
        plan: of the release.
        noise: how the noise was drawn, as far as the plan can tell.
        folder: of the release.
        hashes: the SHA-256 of its files, by name.
    """

    plan: Plan
    noise: NoiseRecord
    folder: AnyPath
    hashes: Mapping[str, Any]

    @cached_property
    def measurements(self) -> tuple[Measurement, ...]:
        """One, or several that were averaged.

        Raises:
            FileFormatError: a file is missing, was altered, or is another measurement than the manifest is about.
        """
        expected = self.noise.measured or ((self.plan, self.noise),)
        return tuple(
            _checked(self.folder / name, self.hashes.get(name), *own)
            for name, own in zip(measurement_names(self.noise), expected, strict=True)
        )

    @property
    def residuals(self) -> IntegerResiduals | FloatResiduals:
        """The answers."""
        return self._opened.residuals

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""
        return self._opened.answers_sha256

    def with_residuals(self, residuals: FloatResiduals) -> NoisyAnswers:
        """The same with other answers."""
        return self._opened.with_residuals(residuals)

    @cached_property
    def _opened(self) -> NoisyAnswers:
        return as_one(self.measurements)


def _checked(path: AnyPath, digest: object, plan: Plan, noise: NoiseRecord) -> Measurement:
    if not path.is_file():
        raise FileFormatError(f"{path} is missing; {AGAIN}")
    if _hash_of(path) != digest:
        raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the manifest; {AGAIN}")
    found = checked(path, partial(load_measurement, path, mapped=True))
    said = [json_text(each.published(plan)) for each in (found.noise, noise)]
    if plan_hash(found.plan) != plan_hash(plan) or said[0] != said[1]:
        raise FileFormatError(f"{path} is another measurement than {PLAN_FILE} and the manifest are about; {AGAIN}")
    return found


def _write(measurement: Measurement, path: AnyPath) -> str:
    """Write a measurement to a new file, and give its hash."""
    with open(path, "x+b") if isinstance(path, Path) else path.writing() as file:
        measurement.write(file)
        file.flush()
        if isinstance(path, Path):
            os.fsync(file.fileno())  # what was paid for is on the disk before a copy beside the folder is removed
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_of(path: AnyPath) -> str:
    with local_file(path) as at, open(at, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

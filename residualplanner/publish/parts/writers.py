"""Who writes the parts of a release: this process, other processes, or an engine's workers."""

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from residualplanner.gate.measurement.combined import NoisyAnswers, map_measurements
from residualplanner.ground.array_hashes import VerifiedFile
from residualplanner.ground.checks import is_integer, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.words import listed
from residualplanner.publish.files.saved_measurement import measurement_names
from residualplanner.publish.parts.part_file import PartFile, part_file_of_bytes
from residualplanner.publish.parts.writing import ANSWERS_SHA256, PartWriter
from residualplanner.release.layout import Layout
from residualplanner.release.numbers import SENT, Numbers
from residualplanner.scale.workers import ProcessWorkers, Workers

#: The first byte of what comes back in the place of hashes: a file cannot be read or written, or was altered.
_PROBLEM, _ALTERED = b"!", b"?"


@dataclass(frozen=True, eq=False, slots=True)
class PartsJob:
    """Some parts of a release that are to be written."""

    measurement: NoisyAnswers
    layout: Layout  # which tables stand in which part
    about: Mapping[str, Any]  # the description of the release in each part, as JSON values
    folder: AnyPath  # of the release, which has the measurement
    parts: Sequence[int]  # their numbers
    numbers: Numbers  # what the tables hold
    with_unbiased: bool  # whether the unbiased estimates stand in a column beside them


def elsewhere(workers: int | Workers) -> Workers | None:
    """The workers that a user has named; None for one process, this one.

    Raises:
        WorkloadError: it is neither a number of processes nor workers.
    """
    if is_integer(workers, least=1):
        return None if workers == 1 else ProcessWorkers(int(workers))
    if isinstance(workers, int) or not hasattr(workers, "require_ready"):
        raise WorkloadError(
            "workers must be a number of processes, at least 1, or an engine's, such as SparkWorkers(spark), got "
            f"{value_text(workers)}"
        )
    return workers


@contextmanager
def writing(job: PartsJob, workers: Workers | None) -> Iterator[Iterator[PartFile]]:
    """Have parts written, those that are complete aside: by workers from the file of the answers, or by this process.

    In the block each part is given in order, as it is written; leaving the block early ends the work.

    Raises:
        FileFormatError: the file of the measurement was altered.
        OSError: a worker cannot read the measurement, or write to the folder.
        ResourceError: an engine's workers do not serve, or it failed.
    """
    if workers is None:
        writer = PartWriter(job.measurement, job.layout, job.about, job.numbers, job.with_unbiased)
        yield map(partial(writer.write, job.folder), job.parts)
        return
    workers.require_ready()
    folder = job.folder.absolute() if isinstance(job.folder, Path) else job.folder
    names = measurement_names(job.measurement.noise)
    own = zip(names, job.measurement.measurements, strict=True)
    files = tuple(measurement.file(folder / name) for name, measurement in own)
    write = WritePart(files, folder, json.dumps(job.about), job.layout, job.numbers.sent(folder), job.with_unbiased)
    answers = workers.map(write, job.parts)
    try:
        yield map(partial(_part_of_answer, write), answers)
    finally:
        if isinstance(answers, Generator):
            answers.close()
    remove_answers(job.folder)


def remove_answers(folder: AnyPath) -> None:
    """Remove the files of adjusted answers that workers have read."""
    for path in folder.iterdir():
        if path.name.endswith(SENT):
            path.unlink()


@dataclass(frozen=True, slots=True)
class WritePart:
    """Writes parts; it is sent to workers, which map the files of the measurements.

    What was verified of these files is not verified again where they are the same files.
    """

    measurements: tuple[VerifiedFile, ...] = field(hash=False)
    folder: AnyPath  # with its absolute path
    about: str  # as of `PartsJob`, as JSON; so the next three
    layout: Layout = field(compare=False)
    numbers: Numbers
    with_unbiased: bool

    def __call__(self, part: int) -> bytes:
        """Write a part, unless it is there, and return what it is, or what went wrong with a file."""
        try:
            return _writer(self).write(self.folder, part).to_bytes()
        except FileFormatError as error:
            return _ALTERED + str(error).encode()
        except OSError as error:
            return _PROBLEM + f"{error.strerror or error}: {error.filename or self.folder}".encode()


def _part_of_answer(write: WritePart, answer: bytes) -> PartFile:
    if answer.startswith(_ALTERED):
        raise FileFormatError(answer[1:].decode())
    if answer.startswith(_PROBLEM):
        files = listed([str(file.path) for file in write.measurements], 3)
        raise OSError(
            f"a worker could not write a part ({answer[1:].decode()}); all workers must see {files} and "
            f"{write.folder} under these names"
        )
    return part_file_of_bytes(answer)


@lru_cache(maxsize=1)
def _writer(write: WritePart) -> PartWriter:
    """What a process writes parts with, from the first one on; FileFormatError where the answers are others."""
    measurement, about = map_measurements(write.measurements), json.loads(write.about)
    if measurement.answers_sha256 != about[ANSWERS_SHA256]:
        files = listed([str(file.path) for file in write.measurements], 3)
        raise FileFormatError(f"{files} was altered while it was in use: it holds other answers than were loaded")
    return PartWriter(measurement, write.layout, about, write.numbers, write.with_unbiased)

"""Who writes the parts of a release: this process, other processes, or an engine's workers."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, final

from residualplanner.gate.measurement.combined import NoisyAnswers, map_measurements
from residualplanner.ground.checks import is_integer, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.verified_file import VerifiedFile
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
    """Some parts of a release that are to be written.

    Attributes:
        measurement: the noisy answers that the tables follow from.
        layout: which tables stand in which part.
        about: the description of the release in each part, as JSON values.
        folder: of the release, which has the measurement.
        parts: their numbers.
        numbers: what the tables hold.
        with_unbiased: whether the unbiased estimates stand in a column beside them.
    """

    measurement: NoisyAnswers
    layout: Layout
    about: Mapping[str, Any]
    folder: AnyPath
    parts: Sequence[int]
    numbers: Numbers
    with_unbiased: bool


class Writers(Protocol):
    """Who writes parts."""

    def writing(self, job: PartsJob) -> AbstractContextManager[Iterator[PartFile]]:
        """Write parts, those that are complete aside; leaving the block early ends the work.

        Returns:
            What each part is, in order, as they are written.

        Raises:
            FileFormatError: the file of the measurement was altered.
            OSError: a worker cannot read the measurement, or write to the folder.
            ResourceError: an engine's workers do not serve, or it failed.
        """
        ...


def writers_of(workers: int | Workers) -> Writers:
    """Those that a user has named: a number of processes, or an engine's workers; WorkloadError for anything else."""
    if is_integer(workers, least=1):
        return ThisProcess() if workers == 1 else OtherProcesses(ProcessWorkers(int(workers)))
    if isinstance(workers, int) or not hasattr(workers, "run"):
        raise WorkloadError(
            "workers must be a number of processes, at least 1, or an engine's, such as SparkWorkers(spark), got "
            f"{value_text(workers)}"
        )
    return OtherProcesses(workers)


@final
class ThisProcess:
    """Writes one part after the other, from the answers that it has."""

    @contextmanager
    def writing(self, job: PartsJob) -> Iterator[Iterator[PartFile]]:
        """As `Writers.writing`."""
        writer = PartWriter(job.measurement, job.layout, job.about, job.numbers, job.with_unbiased)
        yield map(partial(writer.write, job.folder), job.parts)


@final
@dataclass(frozen=True, slots=True)
class OtherProcesses:
    """Has workers write parts, from the file that the answers stand in.

    Attributes:
        workers: processes of this machine, or an engine's workers.
    """

    workers: Workers

    @contextmanager
    def writing(self, job: PartsJob) -> Iterator[Iterator[PartFile]]:
        """As `Writers.writing`."""
        self.workers.require_ready()
        folder = job.folder.absolute() if isinstance(job.folder, Path) else job.folder
        names = measurement_names(job.measurement.noise)
        own = zip(names, job.measurement.measurements, strict=True)
        files = tuple(measurement.file(folder / name) for name, measurement in own)
        numbers = job.numbers.sent(folder)
        write = WritePart(files, folder, json.dumps(job.about), job.layout, numbers, job.with_unbiased)
        with _closed(self.workers.run(write, job.parts)) as answers:
            yield map(partial(_part_of_answer, write), answers)
        remove_answers(job.folder)


def remove_answers(folder: AnyPath) -> None:
    """Remove the files of adjusted answers that workers have read."""
    for path in folder.iterdir():
        if path.name.endswith(SENT):
            path.unlink()


@dataclass(frozen=True, slots=True)
class WritePart:
    """Writes parts; it is sent to workers, which map the files of the measurements.

    Attributes:
        measurements: the files of one measurement, or of several; what was verified of them is not verified again
            where they are the same files.
        folder: that of the release, with its absolute path.
        about: the description of the release in each part, as JSON.
        layout: which tables stand in which part.
        numbers: what the tables hold.
        with_unbiased: whether the unbiased estimates stand in a column beside them.
    """

    measurements: tuple[VerifiedFile, ...] = field(hash=False)
    folder: AnyPath
    about: str
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


@contextmanager
def _closed(results: Iterable[bytes]) -> Iterator[Iterable[bytes]]:
    """The same; what makes them one by one is closed in the end."""
    close: Callable[[], None] | None = getattr(results, "close", None)
    try:
        yield results
    finally:
        if close is not None:
            close()


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

"""Who writes the parts of a release: this process, other processes, or an engine's workers."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from residualplanner.gate.measurement.combined import map_measurements
from residualplanner.ground.checks import is_integer, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.verified_file import VerifiedFile
from residualplanner.ground.words import listed
from residualplanner.publish.files.manifest import measurement_names
from residualplanner.publish.parts.part_file import PartFile, part_file_of_bytes
from residualplanner.publish.parts.writing import ANSWERS_SHA256, PartWriter
from residualplanner.release.layout import Layout
from residualplanner.release.numbers import SENT, Numbers
from residualplanner.scale.workers import ProcessWorkers, Workers

#: The first byte of what comes back in the place of hashes: a file cannot be read or written, or was altered.
_PROBLEM, _ALTERED = b"!", b"?"


def workers_of(workers: int | Workers) -> Workers | None:
    """Those that a user has named; None for this process alone, WorkloadError for anything else."""
    if is_integer(workers, least=1):
        return None if workers == 1 else ProcessWorkers(int(workers))
    if isinstance(workers, int) or not hasattr(workers, "run"):
        raise WorkloadError(
            "workers must be a number of processes, at least 1, or an engine's, such as SparkWorkers(spark), got "
            f"{value_text(workers)}"
        )
    return workers


@contextmanager
def writing(
    writer: PartWriter, folder: AnyPath, parts: Sequence[int], workers: Workers | None
) -> Iterator[Iterator[PartFile]]:
    """Write parts to the folder of a release, those that are complete aside; leaving the block early ends the work.

    The result is what each part is, in order, as they are written.  Workers read the answers from files in the folder.

    Raises:
        FileFormatError: the file of the measurement was altered.
        OSError: a worker cannot read the measurement, or write to the folder.
        ResourceError: an engine's workers do not serve, or it failed.
    """
    if workers is None:
        yield map(partial(writer.write, folder), parts)
        return
    workers.require_ready()
    seen = folder.absolute() if isinstance(folder, Path) else folder
    own = zip(measurement_names(writer.measurement.noise), writer.measurement.measurements, strict=True)
    files = tuple(measurement.file(seen / name) for name, measurement in own)
    numbers = writer.numbers.sent(seen)
    write = WritePart(files, seen, json.dumps(writer.about), writer.layout, numbers, writer.with_unbiased)
    with _closed(workers.run(write, parts)) as answers:
        yield map(partial(_part_of_answer, write), answers)
    remove_answers(folder)


def remove_answers(folder: AnyPath) -> None:
    """Remove the files of adjusted answers that workers have read."""
    for path in folder.iterdir():
        if path.name.endswith(SENT):
            path.unlink()


@dataclass(frozen=True, slots=True)
class WritePart:
    """Writes parts; it is sent to workers, which map the files of the measurements.

    What was verified of these files is not verified again where they are the same.
    """

    measurements: tuple[VerifiedFile, ...] = field(hash=False)  # of one measurement, or of several
    folder: AnyPath  # that of the release, with its absolute path
    about: str  # the description of the release in each part, as JSON
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
        raise OSError(
            f"a worker could not write a part ({answer[1:].decode()}); all workers must see {_files_of(write)} and "
            f"{write.folder} under these names"
        )
    return part_file_of_bytes(answer)


def _files_of(write: WritePart) -> str:
    return listed([str(file.path) for file in write.measurements], 3)


@lru_cache(maxsize=1)
def _writer(write: WritePart) -> PartWriter:
    """What a process writes parts with, from the first one on; FileFormatError where the answers are others."""
    measurement, about = map_measurements(write.measurements), json.loads(write.about)
    if measurement.answers_sha256 != about[ANSWERS_SHA256]:
        raise FileFormatError(
            f"{_files_of(write)} was altered while it was in use: it holds other answers than were loaded"
        )
    return PartWriter(measurement, write.layout, about, write.numbers, write.with_unbiased)

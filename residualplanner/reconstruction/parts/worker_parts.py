"""Parts that are written where a function is called with their numbers: in other processes, or at an engine's workers.

Reads: a measurement's file, which each worker maps.  Gives: files of parts; the numbers of parts go there, and hashes
come back.
"""

import json
import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

from residualplanner._words import listed
from residualplanner.measurement import load_measurements
from residualplanner.reconstruction.parts.layout import Layout
from residualplanner.reconstruction.parts.numbers import PartNumbers
from residualplanner.reconstruction.parts.writing import PartWriter
from residualplanner.workers import Workers

#: The first byte of what comes back in the place of a hash.
_PROBLEM = b"!"


@dataclass(frozen=True, slots=True)
class WritePart:
    """Writes parts; it is sent to workers, which map the files of the measurements.

    Attributes:
        measurements: the absolute paths of its files: of one measurement, or of several.
        folder: the absolute path of that of the release.
        about: the description of the release in each part, as JSON.
        layout: which tables stand in which part.
        numbers: what the tables hold.
    """

    measurements: tuple[Path, ...]
    folder: Path
    about: str
    layout: Layout = field(compare=False)
    numbers: PartNumbers

    def __call__(self, part: int) -> bytes:
        """Write a part, unless it is there, and return the SHA-256 of its bytes, or what went wrong with a file."""
        try:
            return _writer(self).write(self.folder, part).encode("ascii")
        except OSError as error:
            return _PROBLEM + f"{error.strerror or error}: {error.filename or self.folder}".encode()


@contextmanager
def written_by(workers: int | Workers, write: WritePart, parts: Sequence[int]) -> Iterator[Iterator[str]]:
    """Have processes of this machine, or an engine's workers, write parts.

    Returns:
        The SHA-256 of each part, in order: from processes as they are written.

    Raises:
        OSError: a worker cannot read the measurement, or write to the folder.
        ResourceError: an engine's workers do not serve, or it failed.
    """
    if not isinstance(workers, int):
        workers.require_ready()
        yield map(partial(_hash_of_answer, write), workers.run(write, parts))
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_process, (write,))
    try:
        yield map(partial(_hash_of_answer, write), pool.map(_write_in_process, parts))
    finally:
        pool.shutdown(cancel_futures=True)


def _hash_of_answer(write: WritePart, answer: bytes) -> str:
    if answer.startswith(_PROBLEM):
        files = listed(map(str, write.measurements), 3)
        raise OSError(
            f"a worker could not write a part ({answer[1:].decode()}); all workers must see {files} and "
            f"{write.folder} under these names"
        )
    return answer.decode("ascii")


@lru_cache(maxsize=1)
def _writer(write: WritePart) -> PartWriter:
    """What a process writes parts with, from the first one on."""
    measurement = load_measurements(write.measurements, mapped=True)
    return PartWriter(measurement, write.layout, json.loads(write.about), write.numbers)


#: What a process of the pool was sent when it started.
_sent: list[WritePart] = []


def _start_process(write: WritePart) -> None:
    _sent.append(write)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _write_in_process(part: int) -> bytes:
    return _sent[0](part)


def _end_with_parent() -> None:
    """End this process when its parent has ended, however it did."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

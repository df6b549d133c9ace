"""One run with frozen randomness, and everything that can be seen of it but the noisy numbers."""

import contextlib
import csv
import hashlib
import io
import json
import logging
import os
import sys
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import residualplanner
from residualplanner import Measurement, Plan, measure, reconstruct

PACKAGE = str(Path(residualplanner.__file__).parent) + os.sep
#: What reads records may take more steps for some records than for others; nothing behind it may.
READING = tuple(PACKAGE + room + os.sep for room in (os.path.join("gate", "sources"), os.path.join("scale", "engines")))
NOISY_COLUMNS = ("estimate", "ci_low", "ci_high")


class FrozenRandomness:
    """Stands for ``os.urandom``: one SHAKE-256 stream, and the length of every request."""

    def __init__(self, seed: bytes) -> None:
        self.requests: list[int] = []
        self._seed = seed

    def __call__(self, count: int) -> bytes:
        self.requests.append(count)
        request = hashlib.shake_256(b"%b:%d" % (self._seed, len(self.requests)))
        return request.digest(count)


@dataclass
class Seen:
    """What a run showed."""

    #: The noisy residual answers of every set, times the cells of its table where the noise is discrete.
    numbers: dict[tuple[int, ...], np.ndarray] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)  # everything else, in plain values that can be compared
    reading: list[str] = field(default_factory=list)  # the library's functions that were called to read the records


class Tracer:
    """Notes every call of a function of the library, those made while records are read apart from the others."""

    def __init__(self) -> None:
        self.reading: list[str] = []
        self.others: list[str] = []
        self._reader: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found = _named(frame.f_code)
            if found is not None:
                if self._reader is None and found[0]:
                    self._reader = frame
                (self.others if self._reader is None else self.reading).append(found[1])
        elif event == "return" and frame is self._reader:
            self._reader = None


@cache
def _named(code: CodeType) -> tuple[bool, str] | None:
    """Whether a function reads records, and its name; None for functions of other packages."""
    if not code.co_filename.startswith(PACKAGE):
        return None
    name = f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_qualname}:{code.co_firstlineno}"
    return code.co_filename.startswith(READING), name


@contextlib.contextmanager
def watched(seen: Seen, *, trace: bool = True, seed: bytes = b"replay") -> Iterator[FrozenRandomness]:
    """Freeze ``os.urandom``, and note what is requested of it, logged, warned of, printed and called."""
    frozen, tracer, handler = FrozenRandomness(seed), Tracer(), logging.NullHandler()
    logged: list[tuple[str, int, str]] = []
    handler.handle = lambda record: logged.append((record.name, record.levelno, record.getMessage()))
    root, real, real_sync, synced = logging.getLogger(), os.urandom, os.fsync, []
    level = root.level
    printed, complained = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(complained),
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        root.addHandler(handler)
        root.setLevel(1)
        os.urandom = frozen
        os.fsync = lambda number: synced.append("fsync")  # thousands of real ones would take minutes
        if trace:
            sys.setprofile(tracer)
        try:
            yield frozen
        finally:
            if trace:
                sys.setprofile(None)
            os.urandom, os.fsync = real, real_sync
            root.setLevel(level)
            root.removeHandler(handler)
    seen.reading = tracer.reading
    seen.shown |= {
        "random bytes": list(frozen.requests),
        "log": logged,
        "warnings": [(str(warning.message), warning.category) for warning in warned],
        "printed": (printed.getvalue(), complained.getvalue()),
        "calls": tracer.others,
        "synced": len(synced),
    }


def run(
    plan: Plan,
    data: object,
    folder: Path,
    *,
    noise: str = "discrete",
    release: bool = False,
    trace: bool = True,
    **options: Any,
) -> Seen:
    """Measure, save, reconstruct, and save the release if that is wanted: everything that can be seen of it."""
    seen, steps = Seen(), []
    folder.mkdir()
    with watched(seen, trace=trace):
        measurement = measure(plan, data, noise=noise, progress=lambda *step: steps.append(step), **options)
        text = (repr(measurement), repr(measurement.residuals))
        measurement.save(folder / "measurement")
        tables = {(table.names, repr(table.kinds)): table for table in reconstruct(measurement).tables()}
        if release:
            reconstruct(measurement).save(folder / "csv", format="csv")
            reconstruct(measurement).save(folder / "parquet")
    seen.numbers = numbers_of(measurement)
    seen.shown |= {
        "steps": steps,
        "text": text,
        "form": form(measurement),
        "tables": {names: (type(table.estimate), form(np.asarray(table.estimate))) for names, table in tables.items()},
        "files": {str(file.relative_to(folder)): content(file) for file in sorted(folder.rglob("*"))},
    }
    return seen


def numbers_of(measurement: Measurement) -> dict[tuple[int, ...], np.ndarray]:
    """The noisy answers of every set, by its attributes' positions: integers where the noise is discrete."""
    answers, sets = measurement.residuals, list(measurement.plan.closure)
    stored = getattr(answers, "stored", answers.block)
    found = {}
    for group, members in enumerate(answers.groups.members):
        for row, member in enumerate(members.tolist()):
            found[sets[member]] = np.array(stored(group)[row])
    return found


def form(value: object) -> object:
    """Types, shapes and settings all the way down; the values themselves of everything but large arrays of answers."""
    if isinstance(value, np.ndarray):
        flags = (value.flags.writeable, value.flags.c_contiguous, value.flags.owndata)
        return (type(value), value.dtype.str, value.shape, value.strides, flags)
    if isinstance(value, Plan):
        return id(value)
    if is_dataclass(value):
        return (type(value), [(part.name, form(getattr(value, part.name))) for part in fields(value)])
    if isinstance(value, tuple | list):
        return (type(value), [form(part) for part in value])
    if isinstance(value, dict):
        return (type(value), [(key, form(part)) for key, part in value.items()])
    return (type(value), repr(value))


def content(file: Path) -> object:
    """What a file holds but for noisy numbers and what depends on them: its size, and each part that is public."""
    if file.is_dir():
        return sorted(inner.name for inner in file.iterdir())
    if file.suffix == ".parquet":
        table = pq.read_table(file).drop_columns(NOISY_COLUMNS)
        return (str(pq.read_schema(file)), table.to_pydict())
    if file.name == "manifest.json":
        return _without(json.loads(file.read_text()), "files")
    if file.name == "index.csv":
        return [row[:-1] for row in csv.reader(file.read_text().splitlines())]
    if file.name in ("errors.csv", "metadata.json", "csv-metadata.json", "release.plan"):
        return file.read_bytes()  # no noisy number in them, nor their hashes
    if file.suffix == ".csv":
        return pa_csv.read_csv(file).drop_columns(NOISY_COLUMNS).to_pydict()
    return _archive(file)


def _archive(file: Path) -> object:
    """Every member's name, size and settings, the header without the hashes of answers, all other arrays' bytes."""
    with zipfile.ZipFile(file) as archive:
        header = json.loads(archive.read("header.json"))
        told = {
            name: _without(array, "sha256") if _is_noisy(name) else array for name, array in header["arrays"].items()
        }
        members = [
            (info.filename, info.file_size, info.date_time, info.external_attr, info.compress_type, info.extra)
            for info in archive.infolist()
        ]
        kept = {name: archive.read(f"{name}.npy") for name in header["arrays"] if not _is_noisy(name)}
    return (file.stat().st_size, members, _without(header, "arrays"), told, kept)


def _is_noisy(name: str) -> bool:
    return not name.startswith("plan/")


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}

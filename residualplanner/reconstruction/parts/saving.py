"""A release written in parts, by one process or several, from where an interrupted run of the same release stopped.

Reads: a measurement.  Gives: a folder, completely or not at all.
Parts are written to a hidden folder beside the target, whose name says of which measurement they are.  A part has its
own name only when it is complete; the manifest comes last; then the hidden folder gets the name of the target.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any

from residualplanner._atomic import PathLike, force_name, require_free_folder
from residualplanner._checks import value_text
from residualplanner.errors import ResourceError, WorkloadError
from residualplanner.measurement import NoisyAnswers, Progress, answers_hash
from residualplanner.plan import bytes_text, plan_hash
from residualplanner.reconstruction.files.export_files import PARTS_FORMAT, csv_bytes, csv_files, parquet_bytes
from residualplanner.reconstruction.files.manifest import manifest_bytes, plan_files
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.parts.dictionary import labels_table, tables_tables
from residualplanner.reconstruction.parts.layout import (
    LABELS,
    PART_LIST,
    PARTS,
    TABLES,
    Layout,
    layout_of,
    part_name,
)
from residualplanner.reconstruction.parts.numbers import SENT, UNBIASED_NUMBERS, PartNumbers
from residualplanner.reconstruction.parts.worker_parts import WritePart, written_by
from residualplanner.reconstruction.parts.writing import PartWriter, write_tables, write_whole
from residualplanner.reconstruction.profiles import level_of, profile_named
from residualplanner.reconstruction.publication import Publication
from residualplanner.workers import Workers

_MEASUREMENT = f"answers{SENT}"
#: How many bytes of a part a cell takes at least.
_CELL_BYTES = 8


def save_parts(  # noqa: PLR0913
    measurement: NoisyAnswers,
    folder: PathLike,
    *,
    level: float | None,
    publication: Publication | None = None,
    workers: int | Workers,
    only: Iterable[int] | None,
    progress: Progress | None,
    numbers: PartNumbers = UNBIASED_NUMBERS,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the tables of a measurement's workload in parts, all or some, as `Release.save` describes.

    They hold ``numbers``, which say how they follow from the answers; ``more`` are data frames by the names of further
    CSV files.
    """
    if workers is True or not (workers >= 1 if isinstance(workers, int) else hasattr(workers, "run")):
        raise WorkloadError(
            "workers must be a number of processes, at least 1, or an engine's, such as SparkWorkers(spark), got "
            f"{value_text(workers)}"
        )
    target = Path(folder)
    require_free_folder(target)
    plan, noise = measurement.plan, measurement.noise
    profile = profile_named("default").of(numbers.product)
    described = Description(
        plan, noise, PARTS_FORMAT, profile, level_of("default", level), publication or Publication()
    )
    answers = answers_hash(measurement.residuals)
    about = {"plan_sha256": plan_hash(plan), "answers_sha256": answers, "guarantee": noise.guarantee, **numbers.about}
    layout = layout_of(plan.workload)
    parts = layout.chosen(only)
    count = sum(layout.count_of(part) for part in parts)
    with _unfinished(target, about, parts if len(parts) < len(layout) else ()) as hidden:
        _remove_leftovers(hidden, parts)
        require_room(hidden, layout, parts)
        with _written(PartWriter(measurement, layout, about, numbers), hidden, parts, workers) as hashes:
            found = list(_reported(hashes, layout, parts, progress))
        files = _write_rest(described, layout, hidden, parts, found) | _write_more(more, hidden)
        write_whole(hidden / "manifest.json", manifest_bytes(described, files, count))


@contextmanager
def _unfinished(target: Path, about: Mapping[str, Any], only: Sequence[int]) -> Iterator[Path]:
    """The hidden folder of a release that is being written; it becomes ``target`` when the block ends.

    Where it holds parts it stays if the block raises, or the process is killed, for the next run of the same release
    with the same parts.
    """
    digest = hashlib.sha256(json.dumps([about, *only], sort_keys=True).encode()).hexdigest()
    hidden = target.parent / f".{target.name[:50]}.{digest[:16]}.unfinished"
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    (hidden / PARTS).mkdir(parents=True, exist_ok=True)
    for path in hidden.iterdir():  # what a run writes last, and a run that was killed may have left half written
        if path.name != PARTS:
            path.unlink()
    try:
        yield hidden
    except BaseException as error:
        if not any((hidden / PARTS).iterdir()):
            shutil.rmtree(hidden)
            raise
        error.add_note(
            f"the parts that are written are in {hidden}: saving the same measurement to {target} again goes on from "
            "there; remove that folder if it is not to be finished"
        )
        raise
    if target.is_dir():
        target.rmdir()
    os.rename(hidden, target)
    force_name(target)


def require_room(folder: Path, layout: Layout, parts: Sequence[int]) -> None:
    """Raise ResourceError where the disk of a folder has plainly too little room for the parts that it still lacks."""
    needed = sum(_CELL_BYTES * layout.cells_of(part) for part in parts if not (folder / part_name(part)).exists())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ResourceError(
            f"too little room: the parts take at least {bytes_text(needed)}, and {folder.parent} has "
            f"{bytes_text(free)} left; nothing was written.  Make room, name a folder on another disk, or write some "
            "parts only"
        )


@contextmanager
def _written(writer: PartWriter, folder: Path, parts: Sequence[int], workers: int | Workers) -> Iterator[Iterator[str]]:
    """The SHA-256 of each of the parts, in order, as they are written."""
    if workers == 1:
        yield map(partial(writer.write, folder), parts)
        return
    files = tuple(file.absolute() for file in writer.measurement.files(folder / _MEASUREMENT))
    numbers = writer.numbers.sent(folder.absolute())
    write = WritePart(files, folder.absolute(), json.dumps(writer.about), writer.layout, numbers)
    with written_by(workers, write, parts) as hashes:
        yield hashes
    _remove_answers(folder)


def _reported(hashes: Iterator[str], layout: Layout, parts: Sequence[int], progress: Progress | None) -> Iterator[str]:
    """The same, with the number of tables done reported after each part."""
    counts = [layout.count_of(part) for part in parts]
    for done, digest in zip(accumulate(counts), hashes, strict=True):
        if progress is not None:
            progress(done, sum(counts))
        yield digest


def _write_rest(
    described: Description, layout: Layout, folder: Path, parts: Sequence[int], hashes: list[str]
) -> dict[str, str]:
    """Write everything but parts and manifest; the hashes of the files."""
    import pyarrow as pa

    plan = described.plan
    listed = {
        "file": [part_name(part) for part in parts],
        "first_table": layout.parts[list(parts)],
        "tables": [layout.count_of(part) for part in parts],
        "cells": [layout.cells_of(part) for part in parts],
        "sha256": hashes,
    }
    tables = write_tables(folder / TABLES, tables_tables(plan, layout, described.level, parts))
    files = {
        LABELS: parquet_bytes(labels_table(plan)),
        PART_LIST: csv_bytes(pa.table(listed)),
        **plan_files(described),
        "metadata.json": json.dumps(described.metadata(), indent=1).encode("ascii") + b"\n",
    }
    return {TABLES: tables} | {name: write_whole(folder / name, content) for name, content in files.items()}


def _write_more(frames: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Write data frames as CSV; return the hashes of their files."""
    return {name: write_whole(folder / name, content) for name, content in csv_files(frames).items()}


def _remove_answers(folder: Path) -> None:
    """Remove the files of the answers that workers have read."""
    for path in folder.glob(f"*{SENT}"):
        path.unlink()


def _remove_leftovers(folder: Path, parts: Sequence[int]) -> None:
    """Remove what runs that were killed left: parts that are not complete, and answers for workers."""
    _remove_answers(folder)
    names = {Path(part_name(part)).name for part in parts}
    for path in (folder / PARTS).iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

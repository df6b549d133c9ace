"""A release written in parts, by one process or several, from where an interrupted run of the same release stopped.

Reads: a measurement.  Gives: a folder, completely or not at all.
Parts are written to a hidden folder beside the target, whose name says of which measurement they are.  A part has its
own name only when it is complete; the manifest comes last; then the hidden folder gets the name of the target.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from residualplanner._atomic import PathLike, force_name, require_free_folder
from residualplanner._checks import value_text
from residualplanner.errors import WorkloadError
from residualplanner.measurement import Measurement, Progress, answers_hash, load_measurement
from residualplanner.plan import plan_bytes, plan_hash
from residualplanner.reconstruction.files.export_files import PARTS_FORMAT, csv_bytes, parquet_bytes
from residualplanner.reconstruction.files.manifest import PLAN_FILE, manifest_bytes
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.parts.dictionary import labels_table, tables_table
from residualplanner.reconstruction.parts.layout import (
    LABELS,
    PART_LIST,
    PARTS,
    TABLES,
    Layout,
    layout_of,
    part_name,
)
from residualplanner.reconstruction.parts.writing import PartWriter, write_whole
from residualplanner.reconstruction.profiles import level_of, profile_named

_MEASUREMENT = "answers.measurement"


def save_parts(
    measurement: Measurement,
    folder: PathLike,
    *,
    level: float | None,
    workers: int,
    progress: Progress | None,
) -> None:
    """Write all tables of a measurement's workload in parts, as `Release.save` describes."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise WorkloadError(f"workers must be a number of processes, at least 1, got {value_text(workers)}")
    target = Path(folder)
    require_free_folder(target)
    plan, noise = measurement.plan, measurement.noise
    described = Description(plan, noise, PARTS_FORMAT, profile_named("default"), level_of("default", level))
    about = {"plan_sha256": plan_hash(plan), "answers_sha256": answers_hash(measurement), "guarantee": noise.guarantee}
    layout = layout_of(plan.workload)
    with _unfinished(target, about) as hidden:
        _remove_leftovers(hidden, layout)
        with _written(measurement, layout, about, hidden, workers) as hashes:
            found = list(_reported(hashes, layout, progress))
        files = _write_rest(described, layout, hidden, found)
        write_whole(hidden / "manifest.json", manifest_bytes(described, files))


@contextmanager
def _unfinished(target: Path, about: Mapping[str, Any]) -> Iterator[Path]:
    """The hidden folder of a release that is being written; it becomes ``target`` when the block ends.

    It stays if the block raises, or the process is killed, for the next run of the same release.
    """
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    hidden = target.parent / f".{target.name[:50]}.{digest[:16]}.unfinished"
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    (hidden / PARTS).mkdir(parents=True, exist_ok=True)
    try:
        yield hidden
    except BaseException as error:
        error.add_note(
            f"the parts that are written are in {hidden}: saving the same measurement to {target} again goes on from "
            "there; remove that folder if it is not to be finished"
        )
        raise
    if target.is_dir():
        target.rmdir()
    os.rename(hidden, target)
    force_name(target)


@contextmanager
def _written(
    measurement: Measurement, layout: Layout, about: Mapping[str, Any], folder: Path, workers: int
) -> Iterator[Iterator[str]]:
    """The SHA-256 of each part, in order, as they are written."""
    if workers == 1:
        yield map(partial(PartWriter(measurement, layout, about).write, folder), range(len(layout)))
        return
    path = measurement.mapped_from or folder / _MEASUREMENT
    if measurement.mapped_from is None:
        measurement.save(path)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start_worker, (path, layout, about, folder))
    try:
        yield pool.map(_write_in_worker, range(len(layout)))
    finally:
        pool.shutdown(cancel_futures=True)
    (folder / _MEASUREMENT).unlink(missing_ok=True)


def _reported(hashes: Iterator[str], layout: Layout, progress: Progress | None) -> Iterator[str]:
    """The same, with the number of tables done reported after each part."""
    for part, digest in enumerate(hashes):
        if progress is not None:
            progress(int(layout.parts[part + 1]), int(layout.parts[-1]))
        yield digest


#: What a worker process writes parts with, from when it starts.
_worker: list[partial[str]] = []


def _start_worker(path: Path, layout: Layout, about: Mapping[str, Any], folder: Path) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker.append(partial(PartWriter(load_measurement(path, mapped=True), layout, about).write, folder))


def _end_with_parent() -> None:
    """End this process when its parent has ended, however it did."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _write_in_worker(part: int) -> str:
    return _worker[0](part)


def _write_rest(described: Description, layout: Layout, folder: Path, hashes: list[str]) -> dict[str, str]:
    """Write everything but parts and manifest; the hashes of the files."""
    import pyarrow as pa

    plan, first = described.plan, layout.parts[:-1]
    listed = {
        "file": [part_name(part) for part in range(len(layout))],
        "first_table": first,
        "tables": layout.parts[1:] - first,
        "cells": layout.cells[layout.parts[1:]] - layout.cells[first],
        "sha256": hashes,
    }
    files = {
        TABLES: parquet_bytes(tables_table(plan, layout, described.level)),
        LABELS: parquet_bytes(labels_table(plan)),
        PART_LIST: csv_bytes(pa.table(listed)),
        PLAN_FILE: plan_bytes(plan),
        "metadata.json": json.dumps(described.metadata(), indent=1).encode("ascii") + b"\n",
    }
    return {name: write_whole(folder / name, content) for name, content in files.items()}


def _remove_leftovers(folder: Path, layout: Layout) -> None:
    """Remove what runs that were killed left incomplete."""
    names = {Path(part_name(part)).name for part in range(len(layout))}
    for path in (folder / PARTS).iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

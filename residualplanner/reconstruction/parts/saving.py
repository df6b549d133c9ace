"""A release written in parts, by one process or several, from where an interrupted run of the same release stopped.

Reads: a release.  Gives: a folder, whole or not at all.
Parts are written to a hidden folder beside the one that is asked for, whose name says of which measurement they are.  A
part has its own name only when it is whole; the manifest comes last; then the hidden folder gets the name of the other.
"""

import hashlib
import json
import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residualplanner._atomic import PathLike, force_name, require_free_folder, write_atomically
from residualplanner._checks import value_text
from residualplanner.errors import WorkloadError, memory_for
from residualplanner.measurement import Measurement, Progress, answers_hash, load_measurement
from residualplanner.plan import plan_bytes
from residualplanner.reconstruction.files.export_files import csv_bytes, parquet_bytes
from residualplanner.reconstruction.files.export_manifest import PLAN_FILE, manifest_bytes
from residualplanner.reconstruction.files.file_names import parts_of_workload
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.parts.dictionary import labels_table, tables_table
from residualplanner.reconstruction.parts.layout import Layout, layout_of
from residualplanner.reconstruction.parts.writing import about_release, part_bytes, stated_of_part
from residualplanner.reconstruction.profiles import level_of, profile_named

if TYPE_CHECKING:
    from residualplanner.reconstruction.release import Release

#: The folder of the parts within that of the release, and the files that say which tables there are.
PARTS, TABLES, LABELS, PART_LIST = "parts", "tables.parquet", "labels.parquet", "parts.csv"
_MEASUREMENT = "answers.measurement"


@memory_for("to write these tables; ask for smaller ones, or use a machine with more memory")
def save_parts(
    release: "Release",
    folder: PathLike,
    *,
    profile: str = "default",
    level: float | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> None:
    """Write all tables of a release in parts, as `Release.save` describes."""
    target = Path(folder)
    if profile_named(profile).name != "default":
        raise WorkloadError(f'"parts" has estimates and standard errors only: profile={profile!r} is for other formats')
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise WorkloadError(f"workers must be a number of processes, at least 1, got {value_text(workers)}")
    require_free_folder(target)
    chosen = level_of("default", level)
    about = about_release(release, answers_hash(release.measurement))
    with _unfinished(target, about) as partial:
        rows = _write_parts(release, partial, about, workers, progress)
        hashes = _write_rest(release, partial, chosen, rows)
        manifest = manifest_bytes(release, "parts", profile="default", level=chosen, hashes=hashes)
        _write(partial / "manifest.json", manifest)


@contextmanager
def _unfinished(target: Path, about: dict[str, Any]) -> Iterator[Path]:
    """The hidden folder of a release that is being written; it becomes ``target`` when the block ends.

    It stays if the block raises, or the process is killed, for the next run of the same release.
    """
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    partial = target.parent / f".{target.name[:50]}.{digest[:16]}.unfinished"
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    (partial / PARTS).mkdir(parents=True, exist_ok=True)
    try:
        yield partial
    except BaseException as error:
        error.add_note(
            f"the parts that are written are in {partial}: saving the same measurement to {target} again goes on from "
            "there; remove that folder if it is not to be finished"
        )
        raise
    if target.is_dir():
        target.rmdir()
    os.rename(partial, target)
    force_name(target)


def part_name(part: int) -> str:
    """The file of a part within the folder of a release."""
    return f"{PARTS}/part-{part:06}.parquet"


def _write_parts(
    release: "Release", partial: Path, about: dict[str, Any], workers: int, progress: Progress | None
) -> list[tuple[str, int, int, int, str]]:
    """Write the parts that are not there; for each its file, first table, tables, cells and SHA-256."""
    layout = layout_of(release.plan.workload)
    _remove_leftovers(partial, layout)
    rows = []
    with _hashes(release, partial, layout, about, workers) as hashes:
        for part, digest in enumerate(hashes):
            first, last = layout.parts[part : part + 2].tolist()
            rows.append((part_name(part), first, last - first, layout.cells_of(part), digest))
            if progress is not None:
                progress(last, len(release))
    return rows


@contextmanager
def _hashes(
    release: "Release", partial: Path, layout: Layout, about: dict[str, Any], workers: int
) -> Iterator[Iterator[str]]:
    """The SHA-256 of each part in order, each written by then."""
    if workers == 1:
        yield (write_part(release, layout, partial, about, part) for part in range(len(layout)))
        return
    path = _measurement_file(release.measurement, partial)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start_worker, (path, layout, partial, about))
    try:
        yield pool.map(_write_in_worker, range(len(layout)))
    finally:
        pool.shutdown(cancel_futures=True)
    (partial / _MEASUREMENT).unlink(missing_ok=True)


def write_part(release: "Release", layout: Layout, partial: Path, about: dict[str, Any], part: int) -> str:
    """Write a part, unless it is there, and return the SHA-256 of its bytes."""
    path = partial / part_name(part)
    if path.is_file():
        found = path.read_bytes()
        if stated_of_part(found) == about | {"part": part}:
            return hashlib.sha256(found).hexdigest()
    return _write(path, part_bytes(release, layout, part, about))


def _measurement_file(measurement: Measurement, partial: Path) -> Path:
    """A file of the measurement that other processes can map: its own if it has one, else one beside the parts."""
    if measurement.mapped_from is not None:
        return measurement.mapped_from
    measurement.save(partial / _MEASUREMENT)
    return partial / _MEASUREMENT


class _Worker:
    """What a worker process needs for every part; set once, when it starts."""

    release: "Release"
    layout: Layout
    partial: Path
    about: dict[str, Any]


def _start_worker(path: Path, layout: Layout, partial: Path, about: dict[str, Any]) -> None:
    from residualplanner.reconstruction.release import reconstruct

    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Worker.release = reconstruct(load_measurement(path, mapped=True))
    _Worker.layout, _Worker.partial, _Worker.about = layout, partial, about


def _end_with_parent() -> None:
    """End this process when that which started it has ended, however it did."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _write_in_worker(part: int) -> str:
    return write_part(_Worker.release, _Worker.layout, _Worker.partial, _Worker.about, part)


def _write_rest(
    release: "Release", folder: Path, level: float, rows: Sequence[tuple[str, int, int, int, str]]
) -> dict[str, str]:
    """Write everything but parts and manifest; the hashes of the files."""
    import pyarrow as pa

    plan = release.plan
    layout = layout_of(plan.workload)
    described = Description(
        plan, release.measurement.noise, "parts", profile_named("default"), level, parts_of_workload(plan.workload)
    )
    names = ("file", "first_table", "tables", "cells", "sha256")
    listed = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    files = {
        TABLES: parquet_bytes(tables_table(plan, layout, level)),
        LABELS: parquet_bytes(labels_table(plan)),
        PART_LIST: csv_bytes(listed),
        PLAN_FILE: plan_bytes(plan),
        "metadata.json": json.dumps(described.metadata(), indent=1).encode("ascii") + b"\n",
    }
    return {name: _write(folder / name, content) for name, content in files.items()}


def _write(path: Path, content: Any) -> str:
    """Write a file, whole or not at all, over one that is there, and return the SHA-256 of its bytes."""
    with write_atomically(path) as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def _remove_leftovers(partial: Path, layout: Layout) -> None:
    """Remove what runs that were killed left unfinished."""
    names = {Path(part_name(part)).name for part in range(len(layout))}
    for path in (partial / PARTS).iterdir():
        if path.name not in names:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

"""A release written in parts, by one process or several, from where an interrupted run of the same release stopped.

A part has its own name only when it is complete; the manifest comes last.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import FileFormatError, ResourceError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.stores import AnyPath, path_at
from residualplanner.ground.words import bytes_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.publish.files.export_files import csv_files, parquet_bytes
from residualplanner.publish.files.manifest import manifest_bytes, plan_files
from residualplanner.publish.files.saved_measurement import save_measurements
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.parts.dictionary import labels_table, tables_tables
from residualplanner.publish.parts.part_file import HASHES, PartFile
from residualplanner.publish.parts.part_list import part_lists
from residualplanner.publish.parts.statistics import about_statistics, write_statistics
from residualplanner.publish.parts.unfinished import unfinished
from residualplanner.publish.parts.writers import PartsJob, elsewhere, remove_answers, writing
from residualplanner.publish.parts.writing import ANSWERS_SHA256, write_tables, write_whole
from residualplanner.release.layout import LABELS, PARTS, TABLES, Layout, layout_of, part_name
from residualplanner.release.numbers import Numbers
from residualplanner.scale.workers import Workers

#: How many bytes of a part a cell takes at least.
_CELL_BYTES = 8


def save_parts(
    described: Description,
    measurement: NoisyAnswers,
    numbers: Numbers,
    folder: PathLike,
    *,
    workers: int | Workers,
    only: Iterable[int] | None,
    progress: Progress | None,
    more: Mapping[str, Any],
) -> None:
    """Write the tables of a measurement's workload in parts, all or some, as `Release.save` describes.

    They hold ``numbers``, which say how they follow from the answers; ``more`` are data frames by the names of further
    CSV files.
    """
    require_guarded_main("save")
    others = elsewhere(workers)
    plan, with_unbiased = described.plan, described.profile.with_unbiased
    answers = measurement.answers_sha256
    about: dict[str, Any] = {
        "plan_sha256": plan_hash(plan),
        ANSWERS_SHA256: answers,
        "guarantee": described.noise.guarantee,
    }
    about |= {**numbers.about, **({"with_unbiased": True} if with_unbiased else {})}
    layout = layout_of(plan.workload)
    parts = layout.chosen(only)
    count = sum(layout.count_of(part) for part in parts)
    some = parts if len(parts) < len(layout) else ()
    digest = hashlib.sha256(json.dumps([about, *some], sort_keys=True).encode()).hexdigest()
    with unfinished(path_at(folder), digest) as hidden:
        _remove_leftovers(hidden, parts)
        require_room(hidden, layout, parts, measurement)
        saved = save_measurements(measurement, hidden)
        job = PartsJob(measurement, layout, about, hidden, parts, numbers, with_unbiased)
        with _of_unaltered_answers(job), writing(job, others) as written:
            files = saved | _write_about(described, job)  # while other processes write parts
            found = list(_reported(written, layout, parts, progress))
        files |= _write_all(hidden, part_lists(layout, parts, found) | csv_files(more))
        write_whole(hidden / "manifest.json", manifest_bytes(described, files, count))


def require_room(folder: AnyPath, layout: Layout, parts: Sequence[int], answers: NoisyAnswers) -> None:
    """Raise ResourceError where the disk of a folder has plainly too little room for what it still lacks."""
    if not isinstance(folder, Path):
        return  # an object store states no limit
    needed = sum(_CELL_BYTES * layout.cells_of(part) for part in parts if not (folder / part_name(part)).exists())
    needed += sum(_CELL_BYTES * measurement.residuals.count for measurement in answers.measurements)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ResourceError(
            f"too little room: parts and measurement take at least {bytes_text(needed)}, and {folder.parent} has "
            f"{bytes_text(free)} left; nothing was written.  Make room, name a folder on another disk, or write some "
            "parts only"
        )


@contextmanager
def _of_unaltered_answers(job: PartsJob) -> Iterator[None]:
    """Raise FileFormatError, and remove the parts, if their answers were altered on disk while they were written."""
    try:
        yield
        _ = job.measurement.answers_sha256
    except FileFormatError:
        for path in (job.folder / PARTS).iterdir():
            path.unlink()
        raise


def _reported(
    written: Iterator[PartFile], layout: Layout, parts: Sequence[int], progress: Progress | None
) -> Iterator[PartFile]:
    """The same, with the number of tables done reported after each part."""
    counts = [layout.count_of(part) for part in parts]
    for done, file in zip(accumulate(counts), written, strict=True):
        if progress is not None:
            progress(done, sum(counts))
        yield file


def _write_about(described: Description, job: PartsJob) -> dict[str, str]:
    """Write what the tables are, which follows from the plan, and their statistics; the hashes of the files."""
    plan, layout, folder, parts = described.plan, job.layout, job.folder, job.parts
    tables = write_tables(folder / TABLES, tables_tables(plan, layout, described.level, parts))
    statistics = write_statistics(described, job.measurement, job.numbers, folder, layout=layout, parts=parts)
    metadata = described.metadata() | about_statistics(described, statistics)
    files = {
        LABELS: parquet_bytes(labels_table(plan)),
        **plan_files(described),
        "metadata.json": json.dumps(metadata, indent=1).encode("ascii") + b"\n",
    }
    return {TABLES: tables} | statistics | _write_all(folder, files)


def _write_all(folder: AnyPath, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write files, and give the hash of each."""
    return {name: write_whole(folder / name, content) for name, content in files.items()}


def _remove_leftovers(folder: AnyPath, parts: Sequence[int]) -> None:
    """Remove what runs that were killed left: parts that are not complete, and answers for workers."""
    remove_answers(folder)
    names = {Path(part_name(part)).name for part in parts}
    for path in (folder / PARTS).iterdir():
        if path.name not in names:
            shutil.rmtree(path) if isinstance(path, Path) and path.is_dir() else path.unlink()
    for path in (folder / HASHES).iterdir():
        if path.name.replace(".json", ".parquet") not in names:
            path.unlink()

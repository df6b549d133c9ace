"""A release written in parts, by one process or several, from where an interrupted run of the same release stopped.

A part has its own name only when it is complete; the manifest comes last.  Until the release is whole its files are in
a hidden folder, or in the bucket itself with a mark.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike, force_name, rename, require_free_folder, write_atomically
from residualplanner.ground.checks import FloatArray, IntArray, untold
from residualplanner.ground.errors import FileFormatError, ResourceError
from residualplanner.ground.process import require_guarded_main
from residualplanner.ground.stores import AnyPath, Bucket, path_at
from residualplanner.ground.words import bytes_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.more.amounts.statistics import Statistic
from residualplanner.publish.files import parquet
from residualplanner.publish.files.columns import described_table
from residualplanner.publish.files.file_names import statistics_in_parts
from residualplanner.publish.files.manifest import files_beside, manifest_bytes, save_measurements
from residualplanner.publish.files.sidecar import Description, words_json
from residualplanner.publish.parts import writing
from residualplanner.publish.parts.part_file import HASHES, part_lists
from residualplanner.publish.parts.writing import PartWriter, labels_table, write_whole, written_parts
from residualplanner.release.batches import TableBatch
from residualplanner.release.layout import LABELS, PARTS, TABLE_ID, TABLES, Layout, layout_of, part_name
from residualplanner.release.numbers import UNBIASED_NUMBERS, Estimates, Numbers
from residualplanner.release.statistic_forms import columns_in, kinds_of_statistics, statistic_form
from residualplanner.scale.workers import Workers

#: The column of the number of a group in C order.
GROUP = "group_id"


def write_statistics(
    described: Description, writer: PartWriter, folder: AnyPath, parts: Sequence[int]
) -> dict[str, str]:
    """Write the statistics that tables of some parts are for; the hashes of the files, by name."""
    plan, wanted, found = described.plan, writer.layout.tables_of(parts), dict[str, str]()
    for word, codes in kinds_of_statistics(plan.workload).items():
        is_one = np.concatenate([np.isin(block.kinds, codes).any(axis=1) for block in plan.workload.blocks])
        tables = wanted[is_one[wanted]]
        if len(tables):
            about, name = (described.about_every, _columns(described, codes)), statistics_in_parts(word)
            adjusted, unbiased = (each.of(writer.measurement) for each in (writer.numbers, UNBIASED_NUMBERS))
            rows = (
                described_table(_rows(described, batch, own, writing.batch_variances(plan.accuracy, batch)), *about)
                for run in _runs(tables, writer.layout)
                for batch, own in _with_published(adjusted, unbiased, *run)
            )
            found[name] = writing.write_tables(folder / name, rows)
    return found


def about_statistics(described: Description, files: Mapping[str, str]) -> dict[str, Any]:
    """The entry of the metadata on statistics in parts: of each file its columns, with the units of all attributes."""
    found = [
        {"file": statistics_in_parts(word), "columns": list(map(words_json, _columns(described, codes)))}
        for word, codes in kinds_of_statistics(described.plan.workload).items()
        if statistics_in_parts(word) in files
    ]
    return {"statistics": found} if found else {}


def _with_published(
    adjusted: Estimates, unbiased: Estimates, first: int, last: int
) -> Iterator[tuple[TableBatch, FloatArray]]:
    """Unbiased tables from one number on up to another, in batches, each with the published numbers of its tables."""
    # The two may come in batches of other sizes.
    batches = chain.from_iterable(adjusted.chunks(first, last))
    own = {query: table for each in batches for query, table in zip(each.queries.tolist(), each.estimates, strict=True)}
    for batch in chain.from_iterable(unbiased.chunks(first, last)):
        yield batch, np.stack([own[number] for number in batch.queries.tolist()])


def _rows(described: Description, batch: TableBatch, published: FloatArray, variances: FloatArray) -> Any:
    """The rows of the statistics of some tables of the same kinds of query, published as (b, q_1, ..), for PyArrow."""
    import pyarrow as pa

    query = WrittenQuery(tuple(batch.attributes[0].tolist()), batch.kinds)
    form = statistic_form(described.plan.domain, described.profile, query)
    assert form is not None
    axes, tables, rows = form.kind.more_axes, len(batch.queries), form.rows
    entries = math.prod(map(len, axes.values()))
    # batches have axes of one cell for a universe, tables have none
    shape = tables, *query.table_axes.shape(described.plan.domain)
    errors = np.broadcast_to(variances, batch.estimates.shape).reshape(shape)
    values = form.values(published.reshape(shape), batch.estimates.reshape(shape), errors, described.level)
    return pa.table(
        {
            TABLE_ID: pa.array(np.repeat(batch.queries, rows), pa.int32()),
            GROUP: pa.array(np.tile(np.repeat(np.arange(rows // entries), entries), tables), pa.int32()),
            **{name: pa.array(np.tile(np.array(labels), tables * rows // entries)) for name, labels in axes.items()},
            **{name: pa.array(numbers, from_pandas=True) for name, numbers in values.items()},
        }
    )


def _columns(described: Description, codes: Sequence[int]) -> list[tuple[str, str, str]]:
    """Name, unit and meaning of the columns of the statistics of some kinds; the units of all attributes together."""
    workload = described.plan.workload
    found: dict[str, tuple[dict[str, None], str]] = {}
    for position, code in np.argwhere(workload.uses).tolist():
        kind = workload.kinds[code]
        if code not in codes or not isinstance(kind, Statistic):
            continue
        attribute = workload.domain.attributes[position]
        for column in columns_in(described.profile, kind):
            name, unit, meaning = column.described(attribute, workload.domain.unit, described.level)
            found.setdefault(name, ({}, meaning))[0][unit] = None
    return [(name, " or ".join(units), meaning) for name, (units, meaning) in found.items()]


def _runs(tables: IntArray, layout: Layout) -> Iterator[tuple[int, int]]:
    """Tables as runs of consecutive numbers, none longer than a row group: the first, and the one after the last."""
    group = np.searchsorted(layout.groups, tables, side="right")
    breaks = 1 + np.flatnonzero((np.diff(tables) > 1) | (np.diff(group) > 0))
    for run in np.split(tables, breaks):
        yield int(run[0]), int(run[-1]) + 1


#: How many bytes of a part a cell takes at least.
_CELL_BYTES = 8
#: The object of a bucket that says which release is being written there; no release has it.
_MARK = "unfinished.txt"


def save_parts(
    described: Description,
    measurement: NoisyAnswers,
    numbers: Numbers,
    folder: PathLike,
    *,
    workers: int | Workers,
    only: Iterable[int] | None,
    progress: Progress | None,
    more: Mapping[str, bytes],
) -> None:
    """Write the tables of a measurement's workload in parts, all or some, and ``more`` files; see `Release.save`."""
    require_guarded_main("save")
    engine = writing.workers_of(workers)
    plan, with_unbiased = described.plan, described.profile.with_unbiased
    about: dict[str, Any] = {"plan_sha256": plan_hash(plan), "guarantee": described.noise.guarantee, **numbers.about}
    about |= {writing.ANSWERS_SHA256: measurement.answers_sha256, **({"with_unbiased": True} if with_unbiased else {})}
    layout = layout_of(plan.workload)
    parts = layout.chosen(only)
    count = sum(layout.count_of(part) for part in parts)
    writer = PartWriter(measurement, layout, about, numbers, with_unbiased)
    some = parts if len(parts) < len(layout) else ()
    digest = hashlib.sha256(json.dumps([about, *some], sort_keys=True).encode()).hexdigest()
    with _unfinished(path_at(folder), digest) as hidden:
        _remove_leftovers(hidden, parts)
        _require_room(hidden, layout, parts, measurement)
        saved = save_measurements(measurement, hidden)
        with _of_unaltered_answers(measurement, hidden), written_parts(writer, hidden, parts, engine) as written:
            files = saved | _write_about(described, writer, hidden, parts)  # while other processes write parts
            found, done = [], 0
            for part, file in zip(parts, written, strict=True):
                found.append(file)
                done += layout.count_of(part)
                (progress or untold)(done, count)
        files |= _write_all(hidden, {**part_lists(layout, parts, found), **more})
        write_whole(hidden / "manifest.json", manifest_bytes(described, files, count))


def _require_room(folder: AnyPath, layout: Layout, parts: Sequence[int], answers: NoisyAnswers) -> None:
    if not isinstance(folder, Path):
        return  # an object store states no limit
    needed = sum(_CELL_BYTES * layout.cells_of(part) for part in parts if not (folder / part_name(part)).exists())
    needed += sum(_CELL_BYTES * measurement.residuals.count for measurement in answers.measurements)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ResourceError(
            f"too little room: parts and measurement take at least {bytes_text(needed)}, and {folder.parent} has "
            f"{bytes_text(free)} left; nothing was written.  Make room, or name a folder on another disk"
        )


@contextmanager
def _of_unaltered_answers(measurement: NoisyAnswers, folder: AnyPath) -> Iterator[None]:
    """Raise FileFormatError, and remove the parts, if their answers were altered on disk while they were written."""
    try:
        yield
        _ = measurement.answers_sha256
    except FileFormatError:
        for path in (folder / PARTS).iterdir():
            path.unlink()
        raise


def _write_about(described: Description, writer: PartWriter, folder: AnyPath, parts: Sequence[int]) -> dict[str, str]:
    plan, layout = described.plan, writer.layout
    tables = writing.write_tables(folder / TABLES, writing.tables_tables(plan, layout, described.level, parts))
    statistics = write_statistics(described, writer, folder, parts)
    beside = files_beside(described, about_statistics(described, statistics))
    return {TABLES: tables} | statistics | _write_all(folder, {LABELS: parquet.write(labels_table(plan)), **beside})


def _write_all(folder: AnyPath, files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: write_whole(folder / name, content) for name, content in files.items()}


def _remove_leftovers(folder: AnyPath, parts: Sequence[int]) -> None:
    """Remove what runs that were killed left: parts that are not complete, and answers for workers."""
    writing.remove_answers(folder)
    names = {Path(part_name(part)).name for part in parts}
    for path in (folder / PARTS).iterdir():
        if path.name not in names:
            shutil.rmtree(path) if isinstance(path, Path) and path.is_dir() else path.unlink()
    for path in (folder / HASHES).iterdir():
        if path.name.replace(".json", ".parquet") not in names:
            path.unlink()


@contextmanager
def _unfinished(target: AnyPath, digest: str) -> Iterator[AnyPath]:
    """Where the files of a release of this digest are written, which is whole at ``target`` when the block ends.

    Where parts are there when the block raises, or the process is killed, they stay for the next run of the same
    release; of all else nothing stays.  FileExistsError where ``target`` is something else.
    """
    where = _in_folder(target, digest) if isinstance(target, Path) else _in_bucket(target, digest)
    with where as folder:
        try:
            for path in folder.iterdir():  # what a run writes last, and one that was killed may have left half written
                if path.name not in (PARTS, HASHES, _MARK):
                    path.unlink()
            yield folder
        except BaseException as error:
            if any((folder / PARTS).iterdir()):
                error.add_note(
                    f"the parts that are written are in {folder}: saving the same measurement to {target} again goes "
                    "on from there; remove that folder if it is not to be finished"
                )
            else:
                shutil.rmtree(folder) if isinstance(folder, Path) else _empty(folder)
            raise


@contextmanager
def _in_folder(target: Path, digest: str) -> Iterator[Path]:
    require_free_folder(target)
    hidden = target.parent / f".{target.name[:50]}.{digest[:16]}.unfinished"
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    (hidden / PARTS).mkdir(parents=True, exist_ok=True)
    # A process that is killed while it gives the release its name leaves the hashes beside it.
    aside = hidden.with_suffix(f".{HASHES}")
    if aside.is_dir() and not (hidden / HASHES).exists():
        rename(os.rename, aside, hidden / HASHES)
    (hidden / HASHES).mkdir(exist_ok=True)
    yield hidden
    rename(os.rename, hidden / HASHES, aside)
    if target.is_dir():
        target.rmdir()
    rename(os.rename, hidden, target)
    force_name(target)
    shutil.rmtree(aside)


@contextmanager
def _in_bucket(target: Bucket, digest: str) -> Iterator[Bucket]:
    """The target itself, with a mark until the release is whole: without a manifest it is none."""
    mark = target / _MARK
    if any(target.iterdir()) and not (mark.is_file() and mark.read_bytes() == digest.encode("ascii")):
        raise FileExistsError(f"{target} is not empty; name a new prefix, or empty this one first")
    with write_atomically(mark) as file:
        file.write(digest.encode("ascii"))
    yield target
    _empty(target / HASHES)
    mark.unlink()


def _empty(folder: Bucket) -> None:
    for name in folder.names(""):
        (folder / name).unlink()

"""The Parquet files of a release in parts: the parts themselves, and what their tables and labels are, for SQL.

Parts are written by this process, by other processes, or by an engine's workers.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner.gate.measurement.averages import as_one
from residualplanner.gate.measurement.measurement import NoisyAnswers, map_measurement
from residualplanner.ground.array_hashes import VerifiedFile
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.checks import FloatArray, IntArray, is_integer, value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath
from residualplanner.ground.words import listed
from residualplanner.method.plan.error_table import ErrorTable
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import MEANING, meanings_of
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.variances import has_equal_cells
from residualplanner.method.workload.attribute_sets import QueryBlock
from residualplanner.publish.files.manifest import measurement_names
from residualplanner.publish.parts import part_file as part_files
from residualplanner.release.batches import TableBatch
from residualplanner.release.layout import CELL, TABLE_ID, UNBIASED_COLUMN, Layout, part_name
from residualplanner.release.numbers import SENT, UNBIASED_NUMBERS, Estimates, Numbers
from residualplanner.scale.workers import ProcessWorkers, Workers

#: The key of a part's description of itself.
_ABOUT = b"residualplanner"
#: The entry of that description that says from which answers the part was made.
ANSWERS_SHA256 = "answers_sha256"
#: How many bytes are read at a time to compute a hash; how many rows of the dictionary of tables are made at a time.
_PIECE, _ROWS = 2**20, 2**17
#: The columns of the dictionary of tables that are not those of `Plan.errors`, and what its "kinds" is called there.
OWN_COLUMNS = ("table_id", "attributes", "kinds", "shape", "part")
KINDS = "kinds_of_query"
#: The first byte of what comes back in the place of hashes: a file cannot be read or written, or was altered.
_PROBLEM, _ALTERED = b"!", b"?"


@dataclass(frozen=True, eq=False)
class PartWriter:
    """Writes the parts of a release, each by itself."""

    measurement: NoisyAnswers
    layout: Layout
    about: Mapping[str, Any]  # the description of the release in each part, as JSON values
    numbers: Numbers = UNBIASED_NUMBERS  # what the tables hold
    with_unbiased: bool = False  # whether the unbiased estimates stand in a column beside them

    @cached_property
    def _estimates(self) -> Mapping[str, Estimates]:
        every = {self.numbers.product.columns[0]: self.numbers}
        if self.with_unbiased:
            every[UNBIASED_COLUMN] = UNBIASED_NUMBERS
        return {name: each.of(self.measurement) for name, each in every.items()}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the parts: standard errors only where they differ between the cells of a table."""
        is_equal = has_equal_cells(self.measurement.plan.workload, self.measurement.plan.strategy)
        std_errs = () if is_equal else (self.numbers.product.columns[1],)
        return (TABLE_ID, CELL, *self._estimates, *std_errs)

    def write(self, folder: AnyPath, part: int) -> part_files.PartFile:
        """Write a part to its file in the folder, unless it is there as it was written, and return what it is."""
        # What a part will be is written before the part itself, so that none is there without it.
        path, statement = folder / part_name(part), folder / f"{part_files.HASHES}/part-{part:06}.json"
        with suppress(OSError, ValueError, TypeError, FileFormatError):  # absent, or damaged as the part may be
            stated = part_files.part_file_of_bytes(statement.read_bytes())
            if hashlib.sha256(path.read_bytes()).hexdigest() == stated.sha256:
                return stated  # the folder, or its mark, is that of runs with these answers alone
        content = self.content(part)
        written = part_files.part_file_of(content)
        write_whole(statement, written.to_bytes())
        write_whole(path, content)
        return written

    def content(self, part: int) -> Any:
        """A part as Parquet: one row for each cell, table after table, whole tables in each row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns, (estimate, std_err) = self.columns, self.numbers.product.columns
        cells = pa.int32() if np.diff(self.layout.cells).max() < 2**31 else pa.int64()
        counts = pa.int64() if self.numbers.product.is_rounded else pa.float64()
        types = {name: pa.float64() for name in columns} | {TABLE_ID: pa.int32(), CELL: cells, estimate: counts}
        text = json.dumps({**self.about, "part": part}, sort_keys=True)
        schema = pa.schema([(name, types[name]) for name in columns], metadata={_ABOUT: text})
        # Estimates hardly repeat: neither a dictionary nor compression makes them smaller, unless they are integers.
        plain = [name for name in self._estimates if types[name] == pa.float64()]
        compression = {name: "none" if name in plain else "zstd" for name in columns}
        repeated = [name for name in columns if name == std_err]
        stream = pa.BufferOutputStream()
        how = {"compression": compression, "use_dictionary": repeated, "write_statistics": [TABLE_ID]}
        with pq.ParquetWriter(stream, schema, **how) as writer:
            for first, last in pairwise(self.layout.row_groups(part).tolist()):
                arrays = self._row_group(first, last)
                group = pa.table([pa.array(arrays[name], types[name]) for name in columns], schema=schema)
                writer.write_table(group, row_group_size=max(1, len(group)))
        return stream.getvalue()

    def _row_group(self, first: int, last: int) -> dict[str, Any]:
        cells = self.layout.cells[first : last + 1] - self.layout.cells[first]
        counts = np.diff(cells)
        numbers = {name: np.empty(int(cells[-1])) for name in self.columns[2:]}
        estimate, std_err = self.numbers.product.columns
        for name, tables in self._estimates.items():
            for batch in chain.from_iterable(tables.chunks(first, last)):
                starts = cells[batch.queries - first]
                _put(numbers[name], starts, batch.estimates.reshape(len(starts), -1))
                if name == estimate and std_err in numbers:
                    std_errs = np.sqrt(batch_variances(self.measurement.plan.accuracy, batch))
                    _put(numbers[std_err], starts, std_errs.reshape(len(starts), -1))
        return {
            TABLE_ID: np.repeat(np.arange(first, last, dtype=np.int32), counts),
            CELL: np.arange(cells[-1]) - np.repeat(cells[:-1], counts),
            **numbers,
        }


def batch_variances(accuracy: Accuracy, batch: TableBatch) -> FloatArray:
    """The variances of the unbiased tables of a batch, in its shape."""
    # variances are computed for ascending attributes, and the batch has them as they were written
    order = np.argsort(batch.attributes[0])
    kinds = [batch.kinds[axis] for axis in order.tolist()]
    variances = accuracy.stacked_variances(batch.attributes[:, order], kinds)
    return variances.transpose(0, *(1 + np.argsort(order)))


def write_whole(path: AnyPath, content: Any) -> str:
    """Write a file, completely or not at all, over one that is there, and return the SHA-256 of its bytes."""
    with write_atomically(path) as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def write_tables(path: AnyPath, tables: Iterator[Any]) -> str:
    """Write PyArrow tables of one schema to one Parquet file, completely or not at all; the SHA-256 of its bytes."""
    import pyarrow.parquet as pq

    first = next(tables)
    with write_atomically(path) as file, pq.ParquetWriter(file, first.schema, write_statistics=False) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
    digest = hashlib.sha256()
    with closing(path.open("rb")) as written:
        for piece in iter(partial(written.read, _PIECE), b""):
            digest.update(piece)
    return digest.hexdigest()


def _put(column: FloatArray, starts: IntArray, rows: FloatArray) -> None:
    count = rows.shape[1]
    if (np.diff(starts) == count).all():  # tables that follow one another are one copy
        column[starts[0] : starts[0] + rows.size] = rows.ravel()
    else:
        column[starts[:, None] + np.arange(count)] = rows


def tables_tables(plan: Plan, layout: Layout, level: float, parts: Sequence[int]) -> Iterator[Any]:
    """One row for each table of some parts, as PyArrow tables of many rows each: what `tables.parquet` holds."""
    errors = plan.error_table(level)
    breaks = [0, *(1 + np.flatnonzero(np.diff(parts) > 1)).tolist(), len(parts)]
    for start, stop in pairwise(breaks):
        first, last = int(layout.parts[parts[start]]), int(layout.parts[parts[stop - 1] + 1])
        for low in range(first, last, _ROWS):
            yield _rows(plan, layout, errors, low, min(low + _ROWS, last))


def _rows(plan: Plan, layout: Layout, error_table: ErrorTable, first: int, last: int) -> Any:
    import pyarrow as pa

    workload, numbers = plan.workload, np.arange(first, last)
    errors = pa.Table.from_pandas(error_table.frame(first, last), preserve_index=False)
    blocks = [block for _, block in workload.runs(first=first, last=last)]
    parts = np.searchsorted(layout.parts, numbers, side="right") - 1
    answers = workload.answers.astype(np.int64)  # of each attribute in each kind of query
    names, kinds = pa.array(plan.domain.names), pa.array([kind.name for kind in workload.kinds])
    columns = {
        "table_id": pa.array(numbers, pa.int32()),
        "attributes": _lists(blocks, lambda block: names.take(pa.array(block.written_attributes.ravel()))),
        "kinds": _lists(blocks, lambda block: kinds.take(pa.array(block.written_kinds.ravel()))),
        "shape": _lists(blocks, lambda block: pa.array(answers[block.written_attributes, block.written_kinds].ravel())),
        "part": pa.array(parts, pa.int32()),
    }
    for name in errors.column_names:
        columns[KINDS if name == "kinds" else name] = errors[name]
    return pa.table(columns)


def labels_table(plan: Plan) -> Any:
    """One row for each answer on each attribute in each kind of query on it; a label that has no meaning is its own."""
    import pyarrow as pa

    axes = [(plan.domain.attributes[position], kind) for position, kind in plan.workload.attribute_kinds]
    beside = [kind.columns_beside(attribute) for attribute, kind in axes]
    more = list(dict.fromkeys(word for columns in beside for word in columns if word != MEANING))
    rows: dict[str, list[Any]] = {word: [] for word in ("attribute", "kind", "index", "label", MEANING, *more)}
    for (attribute, kind), columns in zip(axes, beside, strict=True):
        labels = [str(label) for label in kind.labels(attribute)]
        rows["attribute"] += [attribute.name] * len(labels)
        rows["kind"] += [kind.name] * len(labels)
        rows["index"] += range(len(labels))
        rows["label"] += labels
        rows[MEANING] += meanings_of(kind, attribute) or labels
        for word in more:
            rows[word] += columns.get(word, [None] * len(labels))
    return pa.table(rows)


def _lists(blocks: Sequence[QueryBlock], of: Callable[[QueryBlock], Any]) -> Any:
    import pyarrow as pa

    lists = []
    for block in blocks:
        values, order = of(block), block.kinds.shape[1]
        offsets = pa.array(np.arange(len(block) + 1) * order, pa.int32())
        lists.append(pa.ListArray.from_arrays(offsets, values))
    return pa.chunked_array(lists)


def workers_of(workers: int | Workers) -> Workers | None:
    """Those that a user has named; None for this process alone, WorkloadError for anything else."""
    if is_integer(workers, least=1):
        return None if workers == 1 else ProcessWorkers(int(workers))
    if isinstance(workers, int) or not hasattr(workers, "require_ready"):
        raise WorkloadError(
            "workers must be a number of processes, at least 1, or an engine's, such as SparkWorkers(spark), got "
            f"{value_text(workers)}"
        )
    return workers


@contextmanager
def written_parts(
    writer: PartWriter, folder: AnyPath, parts: Sequence[int], workers: Workers | None
) -> Iterator[Iterator[part_files.PartFile]]:
    """Write parts to the folder of a release, those that are complete aside; leaving the block early ends the work."""
    if workers is None:
        yield map(partial(writer.write, folder), parts)
        return
    workers.require_ready()
    seen = folder.absolute() if isinstance(folder, Path) else folder
    own = zip(measurement_names(writer.measurement.noise), writer.measurement.measurements, strict=True)
    files = tuple(measurement.file(seen / name) for name, measurement in own)
    sent = writer.layout, writer.numbers.sent(seen), writer.with_unbiased
    write = WritePart(files, seen, json.dumps(writer.about), *sent)
    answers = workers.map(write, parts)
    try:
        yield map(partial(_part_of_answer, write), answers)
    finally:
        if isinstance(answers, Generator):
            answers.close()
    remove_answers(folder)


def remove_answers(folder: AnyPath) -> None:
    """Remove the files of adjusted answers that workers have read."""
    for path in folder.iterdir():
        if path.name.endswith(SENT):
            path.unlink()


@dataclass(frozen=True, slots=True)
class WritePart:
    """Writes parts; it is sent to workers, which map the files of the measurements and verify what has changed."""

    measurements: tuple[VerifiedFile, ...] = field(hash=False)  # of one measurement, or of several
    folder: AnyPath  # that of the release, with its absolute path
    about: str  # the description of the release in each part, as JSON
    layout: Layout = field(compare=False)
    numbers: Numbers
    with_unbiased: bool

    @property
    def names(self) -> str:
        """The files of the measurements."""
        return listed([str(file.path) for file in self.measurements], 3)

    def __call__(self, part: int) -> bytes:
        """Write a part, unless it is there, and return what it is, or what went wrong with a file."""
        try:
            return _writer(self).write(self.folder, part).to_bytes()
        except FileFormatError as error:
            return _ALTERED + str(error).encode()
        except OSError as error:
            return _PROBLEM + f"{error.strerror or error}: {error.filename or self.folder}".encode()


def _part_of_answer(write: WritePart, answer: bytes) -> part_files.PartFile:
    if answer.startswith(_ALTERED):
        raise FileFormatError(answer[1:].decode())
    if answer.startswith(_PROBLEM):
        raise OSError(
            f"a worker could not write a part ({answer[1:].decode()}); all workers must see {write.names} and "
            f"{write.folder} under these names"
        )
    return part_files.part_file_of_bytes(answer)


@lru_cache(maxsize=1)
def _writer(write: WritePart) -> PartWriter:
    """What a process writes parts with, from the first one on; FileFormatError where the answers are others."""
    measurement, about = as_one(list(map(map_measurement, write.measurements))), json.loads(write.about)
    if measurement.answers_sha256 != about[ANSWERS_SHA256]:
        raise FileFormatError(f"{write.names} was altered while it was in use: it holds other answers than were loaded")
    return PartWriter(measurement, write.layout, about, write.numbers, write.with_unbiased)

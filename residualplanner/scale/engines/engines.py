"""From the data that people have to the workers that count it: an engine's for its frames, else this process.

Frames are PySpark's, classic or over Spark Connect, and Dask's; no record of theirs comes here.  Each partition is read
once, however many tables are counted; the counts of each task are added up at one worker, and nothing follows that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, final

from residualplanner.gate.sources.coding import batches_of_pandas, names_of_columns, require_columns, require_types_of
from residualplanner.gate.sources.columns import type_of_series, type_of_spark
from residualplanner.gate.sources.limited_records import Contributions, contributions_of, unlimited
from residualplanner.gate.sources.opening import open_source
from residualplanner.gate.sources.rules import CodedBlock
from residualplanner.gate.sources.source import Progress, guarded
from residualplanner.ground.errors import DataError, ResourceError
from residualplanner.ground.stores import ObjectStore
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines import partitions
from residualplanner.scale.engines.cluster import Cluster, EngineCluster, LocalCluster
from residualplanner.scale.engines.partitions import Finish, PartitionRow, Work
from residualplanner.scale.workers import DaskWorkers, Room, SparkWorkers, Workers, rooms_of_process

if TYPE_CHECKING:
    import pandas as pd

#: How many partitions' counts Dask adds up at a time, and how it moves records: other ways write them to disks.
_TOGETHER, _SHUFFLE = 8, "tasks"
#: How Spark has rows, and how many a worker gives to it at a time.
_ROW, _ROWS = "task int, piece int, content binary", 256
#: A frame, what is read of it, and which of its records count.
FrameOfTable = tuple[Any, Domain, Contributions]
#: Gives a worker the records to count, of record batches or pandas frames and the positions of their tables.
TogetherReading = Callable[[Iterable[tuple[int, Any]]], Iterator[CodedBlock]]


@final
class DaskRecords(EngineCluster):
    """A Dask frame; where people's records are limited, all records of a person are brought into one partition.

    DataError where a column is missing, occurs twice, or is of a type that holds no value of its attribute.
    """

    def __init__(self, frame: Any, domain: Domain, contributions: Contributions, progress: Progress | None) -> None:
        chosen = _chosen_of_dask(frame, domain, contributions)
        for person in contributions.columns[:1]:
            chosen = chosen.shuffle(on=person, shuffle_method=_SHUFFLE)
        self._frames, self._dask = [chosen], self.workers_of(frame)
        self._read: Callable[..., Iterator[PartitionRow]] = partitions.rows_of_pandas
        super().__init__(domain, contributions, self._dask, progress)

    @classmethod
    def together(cls, frames: Sequence[FrameOfTable], domain: Domain, reading: TogetherReading) -> "DaskRecords":
        """The records of one of several tables, of which all of a person are brought together."""
        found, parts = cls(*frames[0], None), max(frame.npartitions for frame, _, _ in frames)
        found._frames = []
        for frame, own, contributions in frames:
            chosen, person = _chosen_of_dask(frame, own, contributions), contributions.columns[0]
            key = " ".join(["person", *chosen.columns])  # longer than any name: it is that of no column
            chosen = chosen.assign(**{key: chosen[person].astype("string")})  # 7 and "7" are the same person
            found._frames.append(chosen.shuffle(on=key, npartitions=parts, shuffle_method=_SHUFFLE))
        found._read, found._domain = partial(_rows_of_frames, reading), domain
        return found

    @staticmethod
    def is_frame(data: object) -> bool:
        """Whether it is a Dask frame."""
        import narwhals as nw

        return bool(nw.dependencies.is_dask_dataframe(data))

    @staticmethod
    def workers_of(_frame: Any) -> DaskWorkers:
        """Dask's, wherever it computes."""
        return DaskWorkers()

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """As `EngineCluster.rows`: counts of some partitions are added up at a time, until there are few."""
        from dask import delayed

        shared = delayed(work, pure=False, traverse=False)
        add = delayed(_added, pure=False, traverse=False)
        count = delayed(partial(_rows_by_task, self._read), pure=False)
        parts_of_frames = zip(*(frame.to_delayed() for frame in self._frames), strict=True)
        counted = [count(shared, *parts) for parts in parts_of_frames]
        last = []
        for task in range(len(work.tasks)):
            parts = [rows[task] for rows in counted]
            while len(parts) > _TOGETHER:
                parts = [
                    add(shared, partitions.rows_of_tables, task, *parts[start : start + _TOGETHER])
                    for start in range(0, len(parts), _TOGETHER)
                ]
            last.append(add(shared, finish, task, *parts))
        return [*chain.from_iterable(self._dask.compute(last, progress))]


def _chosen_of_dask(frame: Any, domain: Domain, contributions: Contributions) -> Any:
    """The columns that are read; DataError as of `DaskRecords`."""
    columns = list(frame.columns)
    names = names_of_columns(domain, contributions)
    require_columns(names, columns)
    require_types_of(domain, contributions, lambda name: type_of_series(frame[name]._meta))
    return frame[names or columns[:1]]


def _rows_by_task(
    read: Callable[..., Iterator[PartitionRow]], work: Work, *frames: "pd.DataFrame"
) -> dict[int, list[PartitionRow]]:
    found: dict[int, list[PartitionRow]] = {task: [] for task in range(len(work.tasks))}
    for row in read(work, *frames):
        found[row.task].append(row)
    return found


def _rows_of_frames(reading: TogetherReading, work: Work, *frames: "pd.DataFrame") -> Iterator[PartitionRow]:
    batches = ((number, batch) for number, frame in enumerate(frames) for batch in batches_of_pandas(frame))
    return partitions.rows_of_blocks(work, lambda: reading(batches))


def _added(work: Work, finish: Finish, task: int, *parts: list[PartitionRow]) -> list[PartitionRow]:
    """What is left of the rows of some partitions; the first row is there where those have none."""
    return [*partitions.finished(work, finish, chain([PartitionRow(task, 0, b"")], *parts))]


@final
class SparkRecords(EngineCluster):
    """A PySpark frame, classic or over Spark Connect; arguments and errors as of `DaskRecords`."""

    def __init__(self, frame: Any, domain: Domain, contributions: Contributions, progress: Progress | None) -> None:
        chosen, wanted = _chosen_of_spark(frame, domain, contributions)
        for person in contributions.columns[:1]:
            chosen = chosen.repartition(chosen.columns[wanted.index(person)])
        self._frame, self._session, self._spark = chosen, frame.sparkSession, self.workers_of(frame)
        self._read: Callable[[Work, Iterable[Any]], Iterator[PartitionRow]] = partitions.rows_of_batches
        super().__init__(domain, contributions, self._spark, progress)

    @classmethod
    def together(cls, frames: Sequence[FrameOfTable], domain: Domain, reading: TogetherReading) -> "SparkRecords":
        """The records of one of several tables, of which all of a person are brought together."""
        found, names, each = cls(*frames[0], None), [], []
        for number, (frame, own, contributions) in enumerate(frames):
            chosen, wanted = _chosen_of_spark(frame, own, contributions)
            person = chosen.columns[wanted.index(contributions.columns[0])]
            # 7 and "7" are the same person
            heads = [f"{number} as of_table", f"cast({person} as string) as person"]
            own_names = [f"t{number}_{column}" for column in chosen.columns]
            pairs = zip(chosen.columns, own_names, strict=True)
            each.append(chosen.selectExpr(*heads, *(f"{column} as {name}" for column, name in pairs)))
            names.append((own_names, wanted))
        union = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), each)
        found._frame, found._domain = union.repartition("person"), domain
        found._read = partial(_rows_of_union, reading, names)
        return found

    @staticmethod
    def is_frame(data: object) -> bool:
        """Whether it is a PySpark frame, classic or over Spark Connect."""
        return any(cls.__module__.startswith("pyspark.sql.") for cls in type(data).__mro__)

    @staticmethod
    def workers_of(frame: Any) -> SparkWorkers:
        """Those of its session."""
        return SparkWorkers(frame.sparkSession)

    def rows(self, work: Work, finish: Finish, progress: Progress | None) -> list[PartitionRow]:
        """As `EngineCluster.rows`, by two stages with a shuffle between them: partitions, then tasks.

        Spark sorts by task what it has brought together, on disk where it is much: a worker holds one task's tables.
        """
        count, read = len(work.tasks), self._read
        counted = self._frame.mapInArrow(lambda batches: _batches_of_rows(read(work, batches)), _ROW)
        # a row for each task, so that there are some where there are no records
        first = self._session.range(0, count, 1, 1).selectExpr(
            "cast(id as int) as task", "0 as piece", "cast('' as binary) as content"
        )
        together = counted.union(first).repartition(count, "task").sortWithinPartitions("task")
        last = together.mapInArrow(
            lambda batches: _batches_of_rows(partitions.finished(work, finish, _rows_of_batches(batches))), _ROW
        )
        return [*_rows_of_batches(self._spark.collect(last, progress).to_batches())]


def _chosen_of_spark(frame: Any, domain: Domain, contributions: Contributions) -> tuple[Any, list[str]]:
    """The columns that are read, under names of their own, and what they are called; DataError as of `DaskRecords`."""
    columns = list(frame.columns)
    wanted = names_of_columns(domain, contributions)
    require_columns(wanted, columns)
    kinds = dict(frame.dtypes)
    require_types_of(domain, contributions, lambda name: type_of_spark(kinds[name]))
    # by position, because Spark reads "A" as "a" and "a.b" as a field of a column "a"
    names = [f"c{position}" for position in range(len(columns))]
    positions = [columns.index(name) for name in wanted] or [0]
    return frame.toDF(*names).select([names[position] for position in positions]), wanted


def _rows_of_union(
    reading: TogetherReading, names: Sequence[tuple[list[str], list[str]]], work: Work, batches: Iterable[Any]
) -> Iterator[PartitionRow]:
    """The rows of a partition with records of several tables, which say of which they are, and have their columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def numbered() -> Iterator[tuple[int, Any]]:
        for batch in batches:
            for number, (own_names, wanted) in enumerate(names):
                part = batch.filter(pc.equal(batch.column("of_table"), number))
                yield number, pa.RecordBatch.from_arrays([part.column(name) for name in own_names], wanted)

    return partitions.rows_of_blocks(work, lambda: reading(numbered()))


def _rows_of_batches(batches: Iterable[Any]) -> Iterator[PartitionRow]:
    for batch in batches:
        task, piece, content = (batch.column(number) for number in range(3))
        for row in zip(task, piece, content, strict=True):  # one after another, since they may be many
            yield PartitionRow(*(entry.as_py() for entry in row))


def _batches_of_rows(rows: Iterator[PartitionRow]) -> Iterator[Any]:
    import pyarrow as pa

    types = (pa.int32(), pa.int32(), pa.binary())
    while some := [*islice(rows, _ROWS)]:
        columns = zip(*some, strict=True)
        yield pa.RecordBatch.from_arrays([*map(pa.array, columns, types)], PartitionRow._fields)


#: By the name of an engine its `EngineCluster`, made from a frame, a domain, whose records count, and the progress.  A
#: new engine is such a class, its `Workers`, and a line here.
ENGINES: dict[str, Any] = {"Dask": DaskRecords, "Spark": SparkRecords}


def open_cluster(
    data: object, domain: Domain, *, records_per_person: int = 1, progress: Progress | None = None
) -> Cluster:
    """The workers that count some data; arguments and DataError as of `open_source`.

    ``progress`` is called with the number of tasks drawn and their total; of an engine's tasks where an engine counts.
    """
    if workers_of(data) is None:
        source = open_source(data, domain, records_per_person=records_per_person)
        return LocalCluster(source, domain, progress=progress)

    def limited(data: object) -> EngineCluster | None:
        """The frame, as many records of each person as count."""
        return cluster_of_frame(unlimited(data), domain, contributions_of(data, domain, records_per_person), progress)

    cluster: Any = guarded(limited, data)
    del data  # the traceback must not lead to the records
    if isinstance(cluster, DataError):
        raise cluster
    return cluster  # type: ignore[no-any-return]


def cluster_of_frame(
    data: Any, domain: Domain, contributions: Contributions, progress: Progress | None = None
) -> EngineCluster | None:
    """What counts the records of an engine's frame; None for anything else, DataError as of `DaskRecords`."""
    records = _records_of(data)
    return None if records is None else records(data, domain, contributions, progress)


def cluster_of_frames(frames: Sequence[FrameOfTable], domain: Domain, reading: TogetherReading) -> EngineCluster | None:
    """What counts one of several tables that are in one engine's frames; None where none is in one.

    The table's domain is ``domain``, and ``reading`` makes its records of those of all tables.  DataError as of
    `DaskRecords`, and where tables are in different engines.
    """
    found = {_records_of(frame) for frame, _, _ in frames}
    if found == {None}:
        return None
    if len(found) > 1:
        raise DataError("tables with computed columns must all be frames of one engine, or none of them")
    cluster: EngineCluster = found.pop().together(frames, domain, reading)
    return cluster


def _records_of(data: object) -> Any:
    """The class of `ENGINES` that opens a frame; None for what is no engine's frame."""
    return next((records for records in ENGINES.values() if records.is_frame(data)), None)


def workers_of(data: Any) -> Workers | None:
    """The workers that count an engine's frame; None for anything else."""
    frame = unlimited(data)
    records = _records_of(frame)
    return None if records is None else records.workers_of(frame)


def require_ready_engine(data: Any, store: ObjectStore | None = None) -> list[Room]:
    """The memory of those who count some data; ResourceError where they are an engine's workers that do not serve.

    It starts small tasks at the workers, which read no record.  Where workers draw noise, their answers go to a
    ``store``: they must reach it, and start no task a second time.
    """
    workers = workers_of(data)
    if workers is None:
        return rooms_of_process()
    try:
        if store is not None:
            workers.require_single_attempts()
        return workers.require_ready(store)
    except ResourceError as error:
        raise ResourceError(f"{error}.  Nothing was charged or read") from None

"""From the data that people have to the workers that count it: an engine's for its frames, else this process.

Frames are PySpark's, classic or over Spark Connect, and Dask's; no record of theirs comes here.
"""

from typing import Any

from residualplanner.gate.sources.limited_records import Contributions, unlimited
from residualplanner.gate.sources.opening import contributions_of, is_read_once, open_source
from residualplanner.gate.sources.source import Progress, Source, guarded
from residualplanner.ground.errors import DataError, ResourceError
from residualplanner.ground.stores import ObjectStore
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.cluster import Cluster, EngineCluster, LocalCluster
from residualplanner.scale.engines.frames import DaskRecords, SparkRecords
from residualplanner.scale.workers import DaskWorkers, Room, SparkWorkers, Workers, rooms_of_process

#: The most bytes that Spark sends for a cell: its count, and its part of what is around it.
COUNT_BYTES = 9


def open_cluster(
    data: object, domain: Domain, *, records_per_person: int = 1, progress: Progress | None = None
) -> Cluster:
    """The workers that count some data; arguments and DataError as of `open_source`.

    ``progress`` is called with the number of tasks drawn and their total; of an engine's tasks where an engine counts.
    """
    cluster = guarded(_limited_cluster, data, domain, records_per_person, progress)
    if cluster is None:
        source = open_source(data, domain, records_per_person=records_per_person)
        return LocalCluster(source, domain, is_read_once=is_read_once(data), progress=progress)
    del data  # the traceback must not lead to the records
    if isinstance(cluster, DataError):
        raise cluster
    return cluster


def _limited_cluster(
    data: object, domain: Domain, records_per_person: int, progress: Progress | None
) -> EngineCluster | None:
    """An engine's frame, as many records of each person as count; None for anything else."""
    contributions = contributions_of(data, domain, records_per_person)
    return _cluster_of_frame(unlimited(data), domain, contributions, progress)


def _cluster_of_frame(
    data: Any, domain: Domain, contributions: Contributions, progress: Progress | None = None
) -> EngineCluster | None:
    if _is_of_dask(data):
        return DaskRecords(data, domain, contributions, progress)
    return SparkRecords(data, domain, contributions, progress) if _is_of_spark(data) else None


def source_of_frame(data: Any, domain: Domain, contributions: Contributions) -> Source | None:
    """What counts the records of an engine's frame; None for anything else, DataError as of `DaskRecords`."""
    cluster = _cluster_of_frame(data, domain, contributions)
    return None if cluster is None else cluster.source()


def is_of_engine(data: object) -> bool:
    """Whether it is an engine's frame."""
    return _is_of_dask(data) or _is_of_spark(data)


def require_result_room(data: Any, cells: int) -> None:
    """ResourceError where Spark would refuse to send the counts of so many cells; others have no such limit.

    How large the counts are depends on the records, so they are assumed to be as large as they can be.
    """
    data = unlimited(data)
    if not _is_of_spark(data):
        return
    limit, needed = SparkWorkers(data.sparkSession).result_bytes, cells * COUNT_BYTES
    if limit is not None and limit < needed:
        raise ResourceError(
            f"Spark may have to send {cells:,} counts, {needed:,} bytes, and sends at most {limit:,} "
            "(spark.driver.maxResultSize); nothing was charged or read.  Start the session with "
            f"spark.driver.maxResultSize={needed // 2**20 + 1}m or more, or ask for fewer or smaller tables"
        )


def workers_of(data: Any) -> Workers | None:
    """The workers that count an engine's frame; None for anything else."""
    data = unlimited(data)
    if _is_of_dask(data):
        return DaskWorkers()
    return SparkWorkers(data.sparkSession) if _is_of_spark(data) else None


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


def _is_of_dask(data: object) -> bool:
    """Whether it is a Dask frame; Dask is not imported to find out."""
    import narwhals as nw

    return bool(nw.dependencies.is_dask_dataframe(data))


def _is_of_spark(data: object) -> bool:
    """Whether it is a PySpark frame, classic or over Spark Connect; PySpark is not imported to find out."""
    return any(cls.__module__.startswith("pyspark.sql.") for cls in type(data).__mro__)

"""From the data that people have to the workers that count it.

Reads: what `open_source` reads.  Gives: Cluster.
"""

from residualplanner.domain import Domain
from residualplanner.errors import DataError
from residualplanner.sources.clusters.cluster import Cluster
from residualplanner.sources.clusters.engine import EngineCluster, EngineRecords
from residualplanner.sources.clusters.local import LocalCluster
from residualplanner.sources.engines import records_of_engine
from residualplanner.sources.opening import is_read_once, open_source
from residualplanner.sources.people import contributions_of, unlimited
from residualplanner.sources.source import Progress, guarded


def open_cluster(
    data: object, domain: Domain, *, records_per_person: int = 1, progress: Progress | None = None
) -> Cluster:
    """The workers that count some data.

    Args:
        data: as for `open_source`.
        domain: the schema that the data must fit.
        records_per_person: as for `open_source`.
        progress: called with the number of tasks drawn and their total; of an engine's tasks where an engine counts.

    Raises:
        DataError: as by `open_source`.
    """
    records = guarded(_records_of_engine, data, domain, records_per_person)
    if records is None:
        source = open_source(data, domain, records_per_person=records_per_person)
        return LocalCluster(source, domain, is_read_once=is_read_once(data), progress=progress)
    del data  # the traceback must not lead to the records
    if isinstance(records, DataError):
        raise records
    return EngineCluster(records, domain, progress)


def _records_of_engine(data: object, domain: Domain, records_per_person: int) -> EngineRecords | None:
    """The records of an engine's frame, as many of each person as count; None for anything else."""
    return records_of_engine(unlimited(data), domain, contributions_of(data, domain, records_per_person))

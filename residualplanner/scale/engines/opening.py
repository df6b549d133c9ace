"""From the data that people have to the workers that count it.

Reads: what `open_source` reads.  Gives: Cluster.
"""

from residualplanner.gate.sources.limited_records import contributions_of, unlimited
from residualplanner.gate.sources.opening import is_read_once, open_source
from residualplanner.gate.sources.source import Progress, guarded
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain
from residualplanner.scale.engines.cluster import Cluster
from residualplanner.scale.engines.engine import EngineCluster, EngineRecords
from residualplanner.scale.engines.engines import records_of_engine
from residualplanner.scale.engines.local import LocalCluster


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

"""From the data that people have to the workers that count it.

Reads: what `open_source` reads.  Gives: Cluster.
"""

from residualplanner.domain import Domain
from residualplanner.errors import DataError
from residualplanner.sources.clusters.cluster import Cluster
from residualplanner.sources.clusters.engine import EngineCluster
from residualplanner.sources.clusters.local import LocalCluster
from residualplanner.sources.engines import records_of_engine
from residualplanner.sources.opening import is_read_once, open_source
from residualplanner.sources.source import Progress, guarded


def open_cluster(data: object, domain: Domain, *, progress: Progress | None = None) -> Cluster:
    """The workers that count some data.

    Args:
        data: as for `open_source`.
        domain: the schema that the data must fit.
        progress: called with the number of tasks drawn and their total, where this process counts.

    Raises:
        DataError: as by `open_source`.
    """
    records = guarded(records_of_engine, data, domain)
    if records is None:
        return LocalCluster(open_source(data, domain), domain, is_read_once=is_read_once(data), progress=progress)
    del data  # the traceback must not lead to the records
    if isinstance(records, DataError):
        raise records
    return EngineCluster(records, domain)

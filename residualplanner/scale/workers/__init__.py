"""Workers: processes on this machine, or an engine's on others, that call functions which are sent to them.

Reads: a Spark session, or the Dask client that is active.  Gives: `Workers`.  Nothing here knows what is computed.
`require_guarded_main` refuses what a script without a guard would do a second time in its own workers.
"""

from residualplanner.scale.workers.dask import DaskWorkers
from residualplanner.scale.workers.processes import ProcessWorkers
from residualplanner.scale.workers.readiness import Room, rooms_of_process
from residualplanner.scale.workers.spark import SparkWorkers
from residualplanner.scale.workers.workers import Workers, is_interrupt

__all__ = [
    "DaskWorkers",
    "ProcessWorkers",
    "Room",
    "SparkWorkers",
    "Workers",
    "is_interrupt",
    "rooms_of_process",
]

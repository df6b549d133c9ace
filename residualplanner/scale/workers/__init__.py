"""Workers: processes of this machine, or an engine's on others, that call functions which are sent to them.

Nothing here knows what is computed, and no record is read.
"""

from residualplanner.scale.workers.dask import DaskWorkers
from residualplanner.scale.workers.spark import SparkWorkers
from residualplanner.scale.workers.workers import ProcessWorkers, Room, Workers, is_interrupt, rooms_of_process

__all__ = ["DaskWorkers", "ProcessWorkers", "Room", "SparkWorkers", "Workers", "is_interrupt", "rooms_of_process"]

from .stored import abort_measuring as abort_measuring
from .stored import load_stored_measurement as load_stored_measurement
from .stored import measure_in_store as measure_in_store
from .stored import resume_measuring as resume_measuring
from .workers import DaskWorkers as DaskWorkers
from .workers import SparkWorkers as SparkWorkers

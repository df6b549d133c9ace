from .stored.measuring import abort_measuring as abort_measuring
from .stored.measuring import measure_in_store as measure_in_store
from .stored.measuring import resume_measuring as resume_measuring
from .stored.reading import load_stored_measurement as load_stored_measurement
from .workers import DaskWorkers as DaskWorkers
from .workers import SparkWorkers as SparkWorkers

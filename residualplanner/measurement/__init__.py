"""The gate between records and releases: counts, noise, and the files that hold what was measured."""

from residualplanner.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.measurement.measure import BATCH_CELLS, measure, require_measurable
from residualplanner.measurement.measurement import Measurement, load_measurement
from residualplanner.measurement.noise_record import NoiseRecord, noise_from_json, noise_to_json
from residualplanner.sources import CsvFile, Progress

__all__ = [
    "BATCH_CELLS",
    "CsvFile",
    "FloatResiduals",
    "IntegerResiduals",
    "Measurement",
    "NoiseRecord",
    "Progress",
    "load_measurement",
    "measure",
    "noise_from_json",
    "noise_to_json",
    "require_measurable",
]

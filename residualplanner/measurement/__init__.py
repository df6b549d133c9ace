"""The gate between records and releases: counts, noise, and the files that hold what was measured."""

from residualplanner.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.measurement.files import answers_hash, load_measurement, noise_from_json, noise_to_json
from residualplanner.measurement.measure import BATCH_CELLS, measure, require_measurable
from residualplanner.measurement.measurement import Measurement
from residualplanner.measurement.noise_record import NoiseRecord
from residualplanner.sources import CsvFile, Progress

__all__ = [
    "BATCH_CELLS",
    "CsvFile",
    "FloatResiduals",
    "IntegerResiduals",
    "Measurement",
    "NoiseRecord",
    "Progress",
    "answers_hash",
    "load_measurement",
    "measure",
    "noise_from_json",
    "noise_to_json",
    "require_measurable",
]

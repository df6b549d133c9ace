"""The gate between records and releases: counts, noise, and the files that hold what was measured."""

from residualplanner.measurement.answers import IntegerAnswers, ResidualAnswers
from residualplanner.measurement.files import load_measurement
from residualplanner.measurement.measure import BATCH_CELLS, measure
from residualplanner.measurement.measurement import Measurement
from residualplanner.measurement.noise_record import NoiseRecord, fraction_text
from residualplanner.measurement.precision import PRECISION_RULE
from residualplanner.sources import Progress

__all__ = [
    "BATCH_CELLS",
    "IntegerAnswers",
    "Measurement",
    "NoiseRecord",
    "PRECISION_RULE",
    "Progress",
    "ResidualAnswers",
    "fraction_text",
    "load_measurement",
    "measure",
]

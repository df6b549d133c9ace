"""The gate between records and releases: counts, noise, and the files that hold the noisy answers.

Reads: a plan, confidential records, perhaps a ledger.  Gives: `Measurement`, all that ever leaves.
Protocol: everything that can be decided without a record is checked, records are counted, the exact cost is charged,
then noise is drawn; `require_measurable` stops before records.  What is raised leads to no record, and says what was
charged.
Source: eqs. (34) to (36) and (44) for discrete noise, eqs. (7) and (26) for continuous; paper Algorithms 1 and 3.
"""

from residualplanner.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.measurement.charging import call_ledger, warn_without_ledger
from residualplanner.measurement.combined import (
    CombinedMeasurement,
    NoisyAnswers,
    as_one,
    load_measurements,
    map_measurements,
)
from residualplanner.measurement.gaussian import BATCH_CELLS
from residualplanner.measurement.measure import measure, require_countable, require_measurable
from residualplanner.measurement.measurement import Measurement, load_measurement
from residualplanner.measurement.noise_record import NoiseRecord
from residualplanner.measurement.noise_statement import CombinedNoise, NoiseStatement, noise_of_release, warning_of
from residualplanner.measurement.resources import require_room
from residualplanner.measurement.spend import ChargeTime, Steps, WatchedProgress, entrance, require_charge_time, spend
from residualplanner.measurement.stored import (
    EngineCheck,
    StoreState,
    abort_measuring,
    check_engine,
    load_stored_measurement,
    measure_in_store,
    require_storable,
    resume_measuring,
    state_of_store,
)
from residualplanner.sources import CsvFile, LimitedRecords, Progress

__all__ = [
    "BATCH_CELLS",
    "ChargeTime",
    "CombinedMeasurement",
    "CombinedNoise",
    "CsvFile",
    "EngineCheck",
    "FloatResiduals",
    "IntegerResiduals",
    "LimitedRecords",
    "Measurement",
    "NoiseRecord",
    "NoiseStatement",
    "NoisyAnswers",
    "Progress",
    "Steps",
    "StoreState",
    "WatchedProgress",
    "abort_measuring",
    "as_one",
    "call_ledger",
    "check_engine",
    "entrance",
    "load_measurement",
    "load_measurements",
    "load_stored_measurement",
    "map_measurements",
    "measure",
    "measure_in_store",
    "noise_of_release",
    "require_charge_time",
    "require_countable",
    "require_measurable",
    "require_room",
    "require_storable",
    "resume_measuring",
    "spend",
    "state_of_store",
    "warn_without_ledger",
    "warning_of",
]

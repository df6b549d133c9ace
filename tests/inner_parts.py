# ruff: noqa: F401 - what is imported here is for the tests
"""The one door of these tests to what is no public name: parts of the gate, of engines, stores and the CUDA kernel."""

from residualplanner.gate.discrete_gaussian import (
    InsecureTestBits,
    NoiseError,
    OperatingSystemBits,
    Scales,
    attempts,
    batches,
    bits,
    draw_arrays,
    draw_flat,
    drawing,
)
from residualplanner.gate.discrete_gaussian import envelope as envelopes
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import TABLES, alias_table, envelope, radius_of_table, shelf
from residualplanner.gate.ledger import file
from residualplanner.gate.ledger.lines import LedgerStage
from residualplanner.gate.measurement import blocks, discrete, gaussian
from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.averages import combine, combined_plan
from residualplanner.gate.measurement.blocks import (
    AnswersOnDisk,
    blocks_held,
    blocks_within,
    counts_and_answers_bytes,
    measuring_bytes,
    working_bytes,
)
from residualplanner.gate.measurement.combined import map_measurements
from residualplanner.gate.measurement.counting import count_tables, parents
from residualplanner.gate.measurement.discrete import RECORDS, exact_noise
from residualplanner.gate.measurement.double_word import combine_words, float_identifies, products_modulo
from residualplanner.gate.measurement.gaussian import continuous_noise, gaussian_mechanism, generator_of_entropy
from residualplanner.gate.measurement.measure import measure_with_bits, require_measurable
from residualplanner.gate.measurement.measurement import groups_of_plan, map_measurement
from residualplanner.gate.measurement.noise_record import noise_from_json, noise_to_json
from residualplanner.gate.measurement.noisy_answers import (
    Width,
    fits_int64_path,
    noisy_answers,
    wide_from_words,
    wide_to_words,
    width_of,
    widths,
)
from residualplanner.gate.measurement.precision import (
    PRECISION_RULE,
    PRECISION_RULE_VARYING,
    gamma2_ratio,
    lattice_divisors,
    measured_cost,
    precision_of,
    precision_rule,
    refinement,
    require_affordable,
    require_drawable,
)
from residualplanner.gate.sources import counting, csv_files
from residualplanner.gate.sources.columns import codes_of_values, type_of_spark
from residualplanner.gate.sources.counting import count_groups
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.multiplicities import MOST, Multiplicities, exact_total, several
from residualplanner.gate.sources.opening import open_source
from residualplanner.gate.sources.source import MergedValues, Source
from residualplanner.gate.spend import WatchedProgress
from residualplanner.ground import array_hashes, atomic
from residualplanner.ground.archive import read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.json import parse_json
from residualplanner.ground.margins import NOISE_SCALE, margin_factor
from residualplanner.ground.stores import Bucket, Folder, object_store, open_store, require_create_if_absent
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.method.kron import (
    ProductMap,
    arrays,
    dense_integers,
    integer_products,
    keeping,
    matrix_map,
    rebuilding,
    tables_of_residuals,
)
from residualplanner.method.strategy.costs import exact_sums
from residualplanner.publish.style import MOST_FILES
from residualplanner.release import reference_answers
from residualplanner.release.devices import HOST, Device, cuda_device, device_of
from residualplanner.release.stacks import DeviceAnswers
from residualplanner.scale.cuda import (
    AXIS_KERNEL,
    KERNEL,
    SM_80,
    SM_90,
    fit_on_device,
    fits,
    fused_tables,
    kernel_sha256,
    kernel_source,
    layout_of,
    tables_on_cuda,
)
from residualplanner.scale.cuda.fused import OPTIONS
from residualplanner.scale.cuda.launches import MOST_AXES, MOST_NUMBERS, cut_layout, inverse, launch_of, require_answers
from residualplanner.scale.engines import cluster, engines
from residualplanner.scale.engines.cluster import EngineCluster, LocalCluster, runs_of_tasks
from residualplanner.scale.engines.engines import open_cluster, require_result_room
from residualplanner.scale.engines.partitions import (
    PIECE_CELLS,
    PROBLEMS,
    CountingTask,
    PartialSum,
    PartitionRow,
    Work,
    add_packed,
    error_of_problems,
    finished,
    packed,
    rows_of_batches,
    rows_of_pandas,
    rows_of_tables,
    sums_of_rows,
)
from residualplanner.scale.stored import generations, measuring
from residualplanner.scale.stored.generations import Drawing
from residualplanner.scale.stored.release import (
    ANSWERS,
    CLAIMS,
    CLOSED,
    MANIFEST,
    RELEASE,
    Outcome,
    Receipt,
    answer_name,
    claim_name,
    opened_release,
    receipt_of_bytes,
)
from residualplanner.scale.stored.tasks import TASK_CELLS, tasks_of_noise, tasks_within
from residualplanner.scale.workers import ProcessWorkers, Room
from residualplanner.scale.workers.spark import unlogged
from residualplanner.scale.workers.workers import python_version

# ruff: noqa: F401 - what is imported here is for the tests
"""The one door of these tests to what is no public name: parts of engines, stores and the CUDA kernel."""

from residualplanner.gate.discrete_gaussian import InsecureTestBits
from residualplanner.gate.ledger.lines import LedgerStage
from residualplanner.gate.measurement import discrete as mechanism
from residualplanner.gate.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.gate.measurement.discrete import exact_noise
from residualplanner.gate.measurement.measure import measure_with_bits
from residualplanner.gate.sources.opening import open_source
from residualplanner.gate.sources.source import Source
from residualplanner.gate.spend import WatchedProgress
from residualplanner.ground.stores import Bucket, Folder
from residualplanner.method.kron import ProductMap, arrays, keeping, matrix_map, rebuilding, tables_of_residuals
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
from residualplanner.scale.engines import engines
from residualplanner.scale.engines.cluster import LocalCluster, runs_of_tasks
from residualplanner.scale.engines.engines import open_cluster
from residualplanner.scale.engines.partitions import (
    PIECE_CELLS,
    PROBLEMS,
    CountingTask,
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
from residualplanner.scale.workers import Room
from residualplanner.scale.workers.spark import unlogged
from residualplanner.scale.workers.workers import python_version

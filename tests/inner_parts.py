# ruff: noqa: F401 - what is imported here is for the tests
"""The one door of these tests to what is no public name: parts of the gate, of engines, stores and the CUDA kernel."""

from residualplanner.fits.mixtures import mixture
from residualplanner.fits.mixtures.drawing import controlled_records, correct_margins, even_records, independent_records
from residualplanner.fits.nonnegative import facts, nonnegative
from residualplanner.gate import spend
from residualplanner.gate.discrete_gaussian import (
    InsecureTestBits,
    OperatingSystemBits,
    attempts,
    batches,
    bits,
    draw_flat,
    drawing,
    envelope,
    exponential_choices,
)
from residualplanner.gate.discrete_gaussian.bits import CheckedBits
from residualplanner.gate.discrete_gaussian.envelope import Scales
from residualplanner.gate.ledger import file
from residualplanner.gate.ledger.lines import LedgerStage
from residualplanner.gate.measurement import (
    answers,
    averages,
    blocks,
    discrete,
    double_word,
    gaussian,
    measurement,
    noise_record,
    noisy_answers,
    precision,
)
from residualplanner.gate.measurement import counting as measured_counting
from residualplanner.gate.measurement.measure import measure_with_bits, require_measurable
from residualplanner.gate.sources import (
    coding,
    columns,
    counting,
    csv_files,
    limited_records,
    opening,
    records,
    source,
)
from residualplanner.ground import archive, array_hashes, atomic, checks, locks, margins
from residualplanner.ground.json import parse_json
from residualplanner.ground.stores import Bucket, object_store, open_store
from residualplanner.ground.stores.object_store import Folder, require_create_if_absent
from residualplanner.linked import measuring as linked_measuring
from residualplanner.linked import reading as linked_reading
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.method.domain.labels import Into
from residualplanner.method.kron import arrays
from residualplanner.method.kron.arrays import Scratch, namespace
from residualplanner.method.kron.axis_maps import (
    ProductMap,
    keeping,
    matrix_map,
    rebuilding,
    subtracting,
    tables_of_residuals,
)
from residualplanner.method.kron.exact_products import dense_integers
from residualplanner.method.kron.integers import differences_of_tables, integer_products
from residualplanner.method.noise.minimax import minimize_maximum_variance
from residualplanner.method.plan.files import plan_from_archive, plan_hash, plan_to_archive
from residualplanner.method.strategy import costs
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.publish.files import formats
from residualplanner.release import devices, reference_answers, stacks
from residualplanner.scale.cuda import fused, launches
from residualplanner.scale.cuda.fused import (
    AXIS_KERNEL,
    KERNEL,
    fused_tables,
    kernel_source,
    tables_on_cuda,
)
from residualplanner.scale.cuda.launches import SM_80, SM_90, fits, layout_of
from residualplanner.scale.engines import cluster, engines, partitions
from residualplanner.scale.stored import generations, measuring, release, tasks
from residualplanner.scale.workers import ProcessWorkers, Room, spark

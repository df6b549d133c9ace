"""What a plan tells of its non-negative tables: how much memory they take, and whether they can be found."""

import numpy as np

from residualplanner.fits.nonnegative.components import cell_kinds
from residualplanner.fits.nonnegative.newton import MOST_CELLS
from residualplanner.fits.nonnegative.problem import unlimited
from residualplanner.fits.nonnegative.table_map import largest_sets, reference_map
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan

#: How many numbers of 8 bytes the solver holds for each cell of the largest tables: measured, and rounded up.
_NUMBERS = 24


def nonnegative_bytes(plan: Plan) -> float:
    """About how many bytes `nonnegative` holds at once: all cells of the largest tables, several times."""
    return 8 * _NUMBERS * _cells(plan)


def require_solvable(plan: Plan) -> None:
    """Raise WorkloadError where the noise of some cells is so much larger than that of others that no solver copes.

    So it is where sums of amounts in several bins are published, and where no query depends on some residual, as it may
    be with thresholds, so that its noise is without a limit.  Up to `MOST_CELLS` there is one.  Source:
    docs/mathematics.md section 11.
    """
    if _cells(plan) <= MOST_CELLS:
        return
    for attribute, kind in zip(plan.domain.attributes, cell_kinds(plan), strict=True):
        bins = 0 if attribute.numeric is None else len(attribute.numeric) // 2
        if bins > 1 and kind.rows(attribute.size) > attribute.size - bins:  # it tells apart the two ends of bins
            raise _unsolvable(plan, "sums or means of amounts in several bins", "smaller tables or amounts in one bin")
    units = reference_map(plan).own.squared_units
    if (unlimited(plan.noise_variances, units) > 1).any():
        what = "queries that leave the noise of some sets of attributes without a limit, as thresholds may,"
        raise _unsolvable(plan, what, "smaller tables, or beside the thresholds the table of all their attributes")


def _unsolvable(plan: Plan, what: str, remedy: str) -> WorkloadError:
    return WorkloadError(
        f"non-negative tables of {what} are found for up to {MOST_CELLS:,} cells, and these have "
        f"{int(_cells(plan)):,}; publish the unbiased tables, without nonnegative, or plan {remedy}"
    )


def _cells(plan: Plan) -> float:
    """How many cells the largest tables have together."""
    rows = [kind.rows(size) for kind, size in zip(cell_kinds(plan), plan.domain.sizes, strict=True)]
    return float(plan.closure.products(np.array(rows, dtype=np.float64))[largest_sets(plan.closure)].sum())


def require_memory_for_nonnegative(plan: Plan) -> None:
    """Raise ResourceError where non-negative tables of a plan need more memory than this process can get."""
    require_room(
        nonnegative_bytes(plan),
        "non-negative tables are made all at once, in {needed}",
        "publish the unbiased tables, which are made one by one, ask for fewer or smaller tables, with a lower up_to "
        "or with max_cells, or use a machine with more memory",
    )

"""The memory that non-negative tables take, compared with what there is before any is made.

Reads: a plan.  Gives: bytes; ResourceError, or nothing.
"""

import numpy as np

from residualplanner.measurement import require_room
from residualplanner.plan import Plan
from residualplanner.postprocessing.cells import cell_kinds
from residualplanner.postprocessing.table_map import largest_sets

#: How many numbers of 8 bytes the solver holds for each cell of the largest tables: measured, and rounded up.
_NUMBERS = 24


def nonnegative_bytes(plan: Plan) -> float:
    """About how many bytes `nonnegative` holds at once: all cells of the largest tables, several times.

    Largest are the tables whose attributes are not part of another's.

    Example:
        >>> from residualplanner import Domain, marginals, select, zcdp
        >>> nonnegative_bytes(select(marginals(Domain({"a": 10, "b": 20}), up_to=2), budget=zcdp(1)))
        38400.0
    """
    rows = [kind.rows(size) for kind, size in zip(cell_kinds(plan), plan.domain.sizes, strict=True)]
    cells = plan.closure.products(np.array(rows, dtype=np.float64))[largest_sets(plan.closure)]
    return float(8 * _NUMBERS * cells.sum())


def require_memory_for_nonnegative(plan: Plan) -> None:
    """Raise ResourceError where non-negative tables of a plan need more memory than this process can get."""
    require_room(
        nonnegative_bytes(plan),
        "non-negative tables are made all at once, in {needed}",
        "publish the unbiased tables, which are made one by one, ask for fewer or smaller tables, with a lower up_to "
        "or with max_cells, or use a machine with more memory",
    )

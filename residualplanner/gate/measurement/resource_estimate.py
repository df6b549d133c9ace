"""What a workload takes in time, memory and disk, from sizes alone.

The constants are those of one machine with two cores; ``benchmarks/resource_estimates.py`` and
``benchmarks/measuring_memory.py`` compare what follows from them with what they measure.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.blocks import measuring_bytes
from residualplanner.gate.measurement.counting import parents
from residualplanner.ground.errors import DataError
from residualplanner.ground.notebooks import html_table
from residualplanner.ground.words import MOST_FILES, bytes_text, count_text
from residualplanner.method.losses import LossLike, read_loss
from residualplanner.method.plan.select import BY_SET, Bases
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.method.strategy.strategy import subtraction_strategy
from residualplanner.method.workload.workload import Workload, require_workload
from residualplanner.more.by_set.problem import by_set_problem
from residualplanner.more.searches.attribute_grams import COARSE_VALUES
from residualplanner.more.searches.tree_grams import matrix_rows

#: Seconds for each pair of a query and a subset of its attributes, bytes for each set, and bytes in any case, to plan.
_PLANNING, _PLANNING_BYTES, _LEAST_BYTES = 3.5e-7, 400.0, 3e7
#: Bytes for each pair of values of the largest attribute whose basis is chosen.
_BASIS_BYTES = 210.0
#: Seconds to choose the basis of an attribute of 1,000 values: at first with the square of their number, then the cube;
#: and how many times as long the largest variance takes, up to 400 values, where more rounds are made, and above.
_BASIS, _BASIS_CUBED, _FOR_MAXIMUM = 12.0, 3.0, (30.0, 3.5)
#: Weights of cells that are held then, at most, and bytes for each.
_WEIGHTS, _WEIGHT_BYTES = 3e5, 500.0
#: Seconds and bytes for each value of an attribute whose groups form a tree of very many.
_TREE, _TREE_BYTES = 2e-4, 7500.0
#: Seconds for each record in each table that is counted; for each number that gets noise; for each set.
_COUNTING, _DRAWING, _MEASURING = 2e-9, 1e-7, 1e-5
#: Bytes of memory for each answer, cell of the largest table and set.
_ANSWER_BYTES, _CELL_BYTES, _SET_BYTES = 8.0, 150.0, 3300.0
#: Seconds for each cell and table, then bytes on disk for each cell, where cells have one standard error, or one each,
#: and for each table; as Parquet, and in parts, in which more tables than so many are written where no format is given.
_IN_FILES, _IN_PARTS = (2.5e-7, 6e-4, 24.0, 38.0, 2200.0), (6e-8, 2e-5, 8.5, 16.5, 60.0)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResourceEstimate:
    """What a workload takes, counted exactly or estimated.

    Attributes:
        tables: how many tables are published, exactly.
        cells: how many cells they have together, exactly up to rounding, as are the next five.
        largest_table: how many cells the largest has.
        residual_sets: how many sets of attributes are measured.
        counts: how many counts they have together: one for each combination of values.
        residual_answers: how many noisy answers a measurement holds.
        planning_seconds: seconds to choose noise and bases, and make the error table; NaN for a function of CVXPY.
        planning_bytes: memory for that.
        measuring_seconds: seconds to count the records, if their number is given, and to add noise.
        measuring_bytes: memory for that, besides the records' own.
        measurement_bytes: the size of the measurement's file.
        writing_seconds: seconds to reconstruct all tables and write them as Parquet: a file each, or in parts where
            there are more than 5,000.
        writing_bytes: memory for that; tables are made one by one, so that the largest counts.
        disk_bytes: the size of all tables, written so.
    """

    tables: int
    cells: float
    largest_table: float
    residual_sets: int
    counts: float
    residual_answers: float
    planning_seconds: float
    planning_bytes: float
    measuring_seconds: float
    measuring_bytes: float
    measurement_bytes: float
    writing_seconds: float
    writing_bytes: float
    disk_bytes: float

    def _repr_html_(self) -> str:
        size = f"{count_text(self.tables, 'table')} with {count_text(self.cells, 'cell')}"
        return html_table(f"Resources for {size}", ["step", "time", "memory", "on disk"], self._steps)

    @property
    def _steps(self) -> list[tuple[str, str, str, str]]:
        numbers = (
            ("planning", self.planning_seconds, self.planning_bytes, 0.0),
            ("measuring", self.measuring_seconds, self.measuring_bytes, self.measurement_bytes),
            ("writing", self.writing_seconds, self.writing_bytes, self.disk_bytes),
        )
        return [
            (step, seconds_text(time), f"{bytes_text(memory)} of memory", f"{bytes_text(disk)} on disk" if disk else "")
            for step, time, memory, disk in numbers
        ]

    def __repr__(self) -> str:
        return (
            f"Tables      {self.tables:,} with {self.cells:,.0f} cells in all, the largest with "
            f"{self.largest_table:,.0f}\n"
            f"Measured    {self.residual_answers:,.0f} answers about {count_text(self.residual_sets, 'set')} of "
            "attributes\n"
        ) + "\n".join(f"{step.capitalize():<12}{', '.join(filter(None, parts))}" for step, *parts in self._steps)


def resource_estimate(
    workload: Workload,
    *,
    loss: LossLike = "sum",
    bases: Bases | None = None,
    records: int | None = None,
    memory: int | None = None,
) -> ResourceEstimate:
    """Estimate what planning, measuring and writing a workload takes, before any of it.

    Time is within a factor of 3 of what it was on the machine of the benchmark, memory and disk within a factor of 2,
    where they are much; the memory of measuring very many tables within 15%.  Counting is for records as an array of
    codes; another engine has its own speed.

    Args:
        workload: the queries to publish.
        loss: what the plan is to make small, as for `select`.
        bases: as for `select`; the search that it makes by default where a plan is far from the best is left out.
        records: about how many records there are, from public knowledge; by default the counting is left out.
        memory: as for `measure`; by default all counts and answers are held at once.

    Raises:
        WorkloadError: the closure is too large, or the search for bases by set; ``loss`` is not a loss.
        DataError: ``records`` is not a number, or less than 0.

    Cost: that of the workload's closure.

    Example:
        >>> from residualplanner import Domain, marginals
        >>> adult = Domain({f"a{i}": n for i, n in enumerate((85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2))})
        >>> print(resource_estimate(marginals(adult, up_to=3), records=48_842))
        Tables      470 with 21,043,262 cells in all, the largest with 1,000,000
        Measured    19,303,551 answers about 470 sets of attributes
        Planning    less than a second, 29 MiB of memory
        Measuring   some 2 seconds, 248 MiB of memory, 147 MiB on disk
        Writing     some 6 seconds, 292 MiB of memory, 483 MiB on disk
    """
    require_workload("resource_estimate", workload)
    if isinstance(records, bool) or not (records is None or (isinstance(records, int | float) and records >= 0)):
        raise DataError("records must be a number, at least 0: about how many there are")
    goal, closure, sizes = read_loss(loss), workload.closure, np.array(workload.domain.sizes, dtype=np.float64)
    counts, answers = float(closure.products(sizes).sum()), float(closure.products(sizes - 1).sum())
    sets, cells, largest = len(closure), float(workload.cells.sum()), float(workload.cells.max())
    groups = basis_groups(subtraction_strategy(workload))
    pairs = float((2.0**workload.orders).sum())
    is_other = np.array([not kind.is_identity for kind in workload.kinds])
    seconds, basis_bytes = _of_bases(workload, is_other, of_maximum=goal.is_of_maximum)
    if isinstance(bases, str) and bases == BY_SET:
        problem = by_set_problem(workload, np.ones(len(workload)), of_maximum=goal.is_of_maximum)
        seconds += 0.0 if problem is None else problem.size.seconds
    per_cell, per_table, equal, other, table = _IN_PARTS if len(workload) > MOST_FILES else _IN_FILES
    has_errors = np.concatenate([is_other[block.kinds].any(axis=1) for block in workload.blocks])  # one for each cell
    counting = 0.0 if records is None else records * float(parents(closure).is_maximal.sum()) * _COUNTING
    return ResourceEstimate(
        tables=len(workload),
        cells=cells,
        largest_table=largest,
        residual_sets=sets,
        counts=counts,
        residual_answers=answers,
        planning_seconds=pairs * _PLANNING + seconds if goal.is_proportional else math.nan,
        planning_bytes=sets * _PLANNING_BYTES + _LEAST_BYTES + basis_bytes,
        measuring_seconds=counting + counts * _DRAWING + sets * _MEASURING,
        measuring_bytes=float(measuring_bytes(groups, memory)),
        measurement_bytes=answers * _ANSWER_BYTES,
        writing_seconds=cells * per_cell + len(workload) * per_table,
        writing_bytes=answers * _ANSWER_BYTES + largest * _CELL_BYTES + sets * _SET_BYTES,
        disk_bytes=float(workload.cells @ np.where(has_errors, other, equal)) + len(workload) * table,
    )


def _of_bases(workload: Workload, is_other: NDArray[np.bool_], *, of_maximum: bool) -> tuple[float, float]:
    """Seconds and bytes to choose one basis for each attribute, where ``is_other`` (kinds,) says which need one."""
    # attributes of one size and kinds are one problem
    chosen = np.flatnonzero(workload.uses[:, is_other].any(axis=1)).tolist()
    problems = {(workload.domain.sizes[i], tuple(np.flatnonzero(workload.uses[i]).tolist())) for i in chosen}
    rows = np.array([matrix_rows(workload, *problem) for problem in problems])
    in_trees = sum(size for (size, _), count in zip(problems, rows, strict=True) if not count)
    each = np.maximum(_BASIS * (rows / 1000) ** 2, _BASIS_CUBED * (rows / 1000) ** 3)
    times = np.where(rows <= COARSE_VALUES, *_FOR_MAXIMUM) if of_maximum else 1.0
    weights = min(float(workload.cells.sum()), _WEIGHTS) if of_maximum and problems else 0.0
    memory = _BASIS_BYTES * float(rows.max(initial=0)) ** 2 + _TREE_BYTES * in_trees + _WEIGHT_BYTES * weights
    return float((each * times).sum()) + _TREE * in_trees, memory


def seconds_text(seconds: float) -> str:
    """A duration for people."""
    if math.isnan(seconds):
        return "a time not known"
    if seconds < 1:
        return "less than a second"
    if seconds < 120:
        return f"some {seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    return f"some {seconds / 60:.0f} minutes" if seconds < 7200 else f"some {seconds / 3600:.1f} hours"

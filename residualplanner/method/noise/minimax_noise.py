"""Minimax problems over the noise of a closure at privacy cost 1, for either notion of neighbors.

Source: eqs. (15) to (17), (23) and (37).

Where the cells of a query have different variances, rows are made as they are needed.  A problem with some of the cells
bounds the whole one from below.  Its noise bounds it from above by the largest of all cells, which is found query by
query among the combinations of hull answers, without a matrix of them.  The cells above the level are added, and the
problem is solved again from the weights it ended with.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.words import count_text
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.method.noise.minimax import minimize_maximum_variance
from residualplanner.method.strategy.cells import AnswerFactors, CellTables, answer_factors, cell_tables, largest_cells
from residualplanner.method.strategy.costs import LargestCosts, UnitCosts, with_token_cost
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.closure import subset_products
from residualplanner.method.workload.symmetry import Orbits
from residualplanner.method.workload.workload import Workload

#: How many rounds of adding ways to differ, and how many are added at a time.
_ROUNDS = 60
_ADDED = 16
#: The status of noise for a bound of the cost that is above it.
BOUNDED = "stopped at a bound of the cost"
#: To how many digits costs are compared.
_DIGITS = 12
#: Up to this many entries, all combinations of hull answers are rows from the start.
_ALL_CELLS = 2**20
_CELL_ROUNDS = 100
#: The gap to which the problem of average cells is solved, for the first rows.
_FIRST_GAP = 0.1
#: How many entries of a matrix of rows may be read in one search, and the fewest steps it gets even so.
_WORK = 2**31
_FEWEST_STEPS = 500
#: A cell this little above the level is there by rounding.
_ROUNDING = 1e-12
#: The least weight, relative to the mean, that a row begins with.
_LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class MinimaxProblem:
    """A minimax problem over orbits of closure sets."""

    costs: UnitCosts  # of the sets at unit noise
    variance: "scipy.sparse.csr_array"  # (q, orbits), the rows of which the largest is minimized
    start: FloatArray  # (q,), positive weights to begin from, such as how many queries each row stands for
    orbits: Orbits  # of the sets
    steps: int = 20_000


def least_maximum_row(problem: MinimaxProblem, gap: float) -> NoiseChoice:
    """The noise of every set (m,), at cost 1, whose largest row is least."""
    if not problem.costs.is_sum:
        return _least_over_ways(problem, problem.costs, gap)
    return _solved(problem, problem.costs.rows(), gap)


def _least_over_ways(problem: MinimaxProblem, costs: LargestCosts, gap: float) -> NoiseChoice:
    """Solve for a few ways in which records may differ, add those that cost more, and repeat until none does.

    A problem with fewer ways bounds the whole one from below; the noise found, scaled to the largest cost of all
    records, bounds it from above.
    """
    ways, best = costs.first, None
    for _ in range(_ROUNDS):
        choice = _solved(problem, costs.rows(ways), gap / 4)
        worst = costs.worst(choice.noise_variance)
        best = _at(choice, worst.cost).or_better(best)
        if best.gap <= gap:
            return replace(best, status="certified")
        # The noise has cost 1 in all ways that it was found for, so that those that cost more are missing.
        more = joined_ways(ways, worst.ways, costs.rows(worst.ways) @ (1 / choice.noise_variance))
        if len(more) == len(ways):
            break
        ways = more
    assert best is not None
    summed = _solved(problem, costs.summed, gap / 4)
    summed = replace(_at(summed, costs.worst(summed.noise_variance).cost), bound=best.bound)
    return replace(best.or_better(summed), status=BOUNDED)


def joined_ways(ways: FloatArray, more: FloatArray, cost: FloatArray) -> FloatArray:
    """Ways (c, 3, d) and the costliest of more (k, 3, d), of those whose cost (k,) is above 1.

    Of several that cost the same one is added, as these are mostly one way with attributes or records exchanged.
    """
    distinct, first = np.unique(cost.round(_DIGITS), return_index=True)
    chosen = more[first[distinct > 1][::-1][:_ADDED]]
    known = {way.tobytes() for way in ways}
    new = [way for way in chosen if way.tobytes() not in known]
    return np.concatenate([ways, np.array(new).reshape(-1, *ways.shape[1:])])


def _at(choice: NoiseChoice, cost: float) -> NoiseChoice:
    return replace(choice, noise_variance=frozen(choice.noise_variance * cost), loss=choice.loss * cost)


def _solved(problem: MinimaxProblem, rows: FloatArray, gap: float) -> NoiseChoice:
    """Solve for costs ``rows`` (c, m)."""
    costs, tokens = problem.orbits.sum_sets(rows), problem.orbits.sum_sets(with_token_cost(rows))
    search = {"gap": gap, "start": problem.start, "steps": problem.steps}
    choice = least_maximum_variance(costs, tokens, problem.variance, **search)
    return replace(choice, noise_variance=frozen(choice.noise_variance[problem.orbits.member]))


def least_maximum_variance(
    costs: FloatArray, tokens: FloatArray, variance: "scipy.sparse.csr_array", **search: Any
) -> NoiseChoice:
    """`minimize_maximum_variance` at cost 1 where some noise may be free, for ``tokens`` (c, n) in place of costs 0.

    The bound is one for free noise being free: the root sum loses at most the parts of the token costs.
    """
    choice = minimize_maximum_variance(tokens, variance, pcost=1.0, **search)
    free = np.flatnonzero(costs.max(axis=0) <= 0)
    token = np.sqrt(tokens[:, free].max(axis=0) * variance[:, free].max(axis=0).toarray()).sum()
    return replace(choice, bound=max(math.sqrt(choice.bound) - float(token), 0.0) ** 2)


@dataclass(frozen=True, eq=False, slots=True)
class CellRows:
    """The cells of queries as rows of a minimax problem."""

    queries: Workload
    tables: CellTables  # of the strategy
    answers: AnswerFactors  # the variance factors of those to try
    importance: FloatArray  # (q,), what multiplies the variances of each query
    count: FloatArray  # (q,), how many cells each query has to try; 0 where its importance is 0

    @classmethod
    def of(cls, queries: Workload, strategy: Strategy, importance: FloatArray) -> "CellRows":
        """The rows of all combinations of hull answers; no attribute may vary."""
        answers = answer_factors(queries, strategy, on_hull=True)
        counts = [answers.counts(block).astype(np.float64).prod(axis=1) for block in queries.blocks]
        return cls(queries, cell_tables(strategy), answers, importance, np.concatenate(counts) * (importance > 0))

    @property
    def entries(self) -> float:
        """How many entries a matrix of all rows would have."""
        return float((self.count * 2.0**self.queries.orders).sum())

    def every(self) -> tuple[IntArray, IntArray]:
        """All rows: the number of the query and the index of its cell, (r,) each."""
        count = self.count.astype(np.int64)
        query = np.repeat(np.arange(len(count)), count)
        return query, np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)

    def matrix(self, problem: MinimaxProblem, query: IntArray, cell: IntArray) -> "scipy.sparse.csr_array":
        """The rows (r, classes) of some cells: ``query`` (r,) ascending, and the index ``cell`` (r,) in it."""
        ends = np.searchsorted(query, np.cumsum([0, *map(len, self.queries.blocks)]))
        columns, entries, lengths, start = [], [], [], 0
        closure = self.tables.strategy.closure
        for order, block in enumerate(self.queries.blocks):
            part = slice(ends[order], ends[order + 1])
            chosen = block.part(query[part] - start)
            answer = _digits(cell[part], self.answers.counts(chosen))
            present, absent = self.answers.at(chosen, answer)
            coefficients = subset_products(absent, present) * self.queries.joint_factors(chosen) ** 2
            coefficients = coefficients * self.importance[query[part], None]
            columns.append(problem.orbits.member[closure.subset_positions(chosen.attributes)].ravel())
            entries.append(coefficients.ravel())
            lengths.append(np.full(len(coefficients), 1 << order))
            start += len(block)
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        parts = np.concatenate(entries), np.concatenate(columns).astype(np.int32), starts
        matrix = scipy.sparse.csr_array(parts, (len(query), problem.variance.shape[1]))
        matrix.sum_duplicates()
        return matrix

    def largest(self, noise_variance: FloatArray) -> tuple[FloatArray, IntArray]:
        """The largest cell variance of every query times its importance, and that cell, (q,) each."""
        value, cell = largest_cells(self.queries, self.answers, noise_variance, self.tables)
        return value * self.importance, cell


def least_maximum_cell(average: MinimaxProblem, cells: CellRows, gap: float) -> NoiseChoice:
    """The noise of every set (m,), at cost 1, whose largest cell is least, to a gap relative to the bound.

    ``average`` is the problem with a row for the average cell of each query.
    """
    if cells.entries <= _ALL_CELLS:
        query, cell = cells.every()
        start = average.start[query] / cells.count[query]
        return least_maximum_row(replace(average, variance=cells.matrix(average, query, cell), start=start), gap)
    choice, best = least_maximum_row(average, _FIRST_GAP), None
    query = np.flatnonzero(cells.count)
    cell, start = cells.largest(choice.noise_variance)[1][query], average.start[query]
    inner = _FIRST_GAP
    for _ in range(_CELL_ROUNDS):
        choice = least_maximum_row(_relaxed(average, cells.matrix(average, query, cell), start), inner)
        value, worst = cells.largest(choice.noise_variance)
        judged = replace(choice, loss=float(value.max()))
        best = judged.or_better(best)
        if best.gap <= gap:
            return replace(best, status="certified")
        above = np.flatnonzero(value > choice.loss * (1 + _ROUNDING))
        is_slow = choice.gap > inner
        if is_slow or (not len(above) and inner <= gap / 4):
            break
        assert choice.weights is not None
        # The weights where the search ended, none so small that the next one could not raise it.
        ended = np.maximum(choice.weights, _LEAST_WEIGHT / len(choice.weights))
        query, cell, start = _joined((query, cell), ended[: len(query)], (above, worst[above]))
        inner = max(gap / 4, min(inner, (judged.loss / choice.loss - 1)) / 4)
    assert best is not None
    return replace(best, status=f"stopped with {count_text(len(query), 'cell')}")


def _relaxed(average: MinimaxProblem, matrix: "scipy.sparse.csr_array", start: FloatArray) -> MinimaxProblem:
    """The problem of some cells, and if they leave some noise without a limit, of the average cells as well.

    No average is above its largest cell, so that the bound is still one.
    """
    if not (matrix.sum(axis=0) > 0).all():
        matrix = scipy.sparse.csr_array(scipy.sparse.vstack([matrix, average.variance]))
        start = np.concatenate([start, average.start * (start.mean() / average.start.mean())])
    steps = min(average.steps, max(_FEWEST_STEPS, int(_WORK / matrix.nnz)))
    return replace(average, variance=matrix, start=start, steps=steps)


def _joined(
    rows: tuple[IntArray, IntArray], weights: FloatArray, added: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows and more rows in order of their queries, and weights to begin from: a new one has half of its query's."""
    of_query = np.bincount(rows[0], weights=weights, minlength=int(added[0].max(initial=0)) + 1)
    query, cell = (np.concatenate(pair) for pair in zip(rows, added, strict=True))
    start = np.concatenate([weights, of_query[added[0]] / 2])
    order = np.argsort(query, kind="stable")
    return query[order], cell[order], start[order]


def _digits(cell: IntArray, counts: IntArray) -> IntArray:
    """The answer on each attribute, (r, k), of cells with these indices in C order among ``counts`` (r, k)."""
    digits, rest = np.empty(counts.shape, dtype=np.int64), cell
    for axis in reversed(range(counts.shape[1])):
        rest, digits[:, axis] = np.divmod(rest, counts[:, axis])
    return digits

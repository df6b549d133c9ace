"""The errors of published numbers, by drawing the plan's noise around them and making tables again.

Costs no privacy budget: records are not read.
Source: parametric bootstrap, Efron and Tibshirani (1993), chapter 6; jackknife, the same, chapter 11.
"""

from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, frozen, require_integer, require_type, untold
from residualplanner.ground.errors import memory_for
from residualplanner.release.numbers import Estimates
from residualplanner.release.published_errors import PublishedErrors
from residualplanner.release.release import Release

#: The fewest simulations, and into how many groups they are divided to tell the error of a bias.
_FEWEST, _GROUPS = 10, 8
#: From how many cells on their errors are added up in single precision.
_MANY_CELLS = 2_000_000


@memory_for("to simulate the errors of tables of this size; ask for fewer tables, or use a machine with more memory")
def published_errors(
    release: Release, *, simulations: int = 50, seed: int = 0, progress: Progress | None = None
) -> PublishedErrors:
    """The root mean square error and the bias of the published numbers of every table, by simulation.

    The published tables serve as the truth.  In every simulation noise of the plan's variances is added to the
    answers that they have, and tables are made of that as the published ones were made: with the same facts, weights
    and rounding.  What is known is not given noise.

    The noise is continuous, drawn in floating point from a generator with a seed: it protects nothing, and nothing that
    has seen records is drawn with it.  Solutions are as near to the exact ones as matters here: no cell is below 0 by
    more than a thousandth of the smallest standard error; where there are more than two million cells, a twentieth.

    Args:
        release: from `nonnegative` or `rounded`; the errors of unbiased tables are known exactly, see `Plan.errors`.
        simulations: how many, at least 10.  The standard error that this leaves is part of the result.
        seed: equal seeds give equal errors.
        progress: called with the number of simulations done, and of all.

    Returns:
        Errors table by table.  For rounded tables those before rounding serve as the truth.

    Raises:
        ArgumentError: ``release`` is neither.
        WorkloadError: there are too few simulations, or the seed is no integer of at least 0.
        SolverError: the tables of a simulation were not found.

    Guarantees: post-processing of what is published; it costs no budget.
    Cost: for each simulation about a third of `nonnegative`, of millions of cells half; memory of eleven numbers a
        cell, in single precision from two million cells on, beside that of `nonnegative`.
    Source: eqs. (6), (48) and (50).

    Example:
        >>> from residualplanner import Domain, Workload, measure, nonnegative, reconstruct, select, zcdp
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a", "b"), ("b",)]), budget=zcdp(1))
        >>> release = nonnegative(reconstruct(measure(plan, np.zeros((20, 2), dtype=int))))
        >>> errors = published_errors(release, simulations=40).to_frame()
        >>> errors["query"].tolist(), bool((errors["rmse"] > 0).all())
        (['b', 'a × b'], True)
    """
    remedy = "write published_errors(nonnegative(release)); of unbiased tables release.plan.errors() has them exactly"
    require_type("published_errors", "release", release, Release, remedy)
    number, seed = require_integer("simulations", simulations, least=_FEWEST), require_integer("seed", seed, least=0)
    simulation, generator = release.numbers.simulation(release.measurement), np.random.default_rng(seed)
    cells = release.plan.workload.cells.astype(np.int64)
    starts, total = np.cumsum(cells) - cells, int(cells.sum())
    kept: Any = np.float64 if total < _MANY_CELLS else np.float32

    def tables(made: Estimates) -> NDArray[np.floating]:
        """The cells of all tables, (y,)."""
        found = np.empty(total, dtype=kept)
        for batch in chain.from_iterable(made.chunks(0, len(release))):
            size = int(cells[batch.queries[0]])
            found[starts[batch.queries][:, None] + np.arange(size)] = batch.estimates.reshape(-1, size)
        return found

    truth, sums = tables(simulation.center), np.zeros((_GROUPS, total), dtype=kept)  # of errors in each group
    squares = np.empty((len(cells), number))  # the mean square of the errors of each table in each simulation
    for done in range(number):
        off = tables(simulation.draw(generator))
        off -= truth
        sums[done % _GROUPS] += off
        off *= off
        squares[:, done] = np.add.reduceat(off, starts, dtype=np.float64) / cells
        (progress or untold)(done + 1, number)
    sums /= np.bincount(np.arange(number) % _GROUPS).astype(kept)[:, None]
    products = np.empty((_GROUPS, _GROUPS, len(cells)))
    for one, other in combinations_with_replacement(range(_GROUPS), 2):
        both = np.add.reduceat(sums[one] * sums[other], starts, dtype=np.float64)
        products[one, other] = products[other, one] = both
    mean, spread = squares.mean(axis=1), squares.std(axis=1, ddof=1) / np.sqrt(number)
    rmse, bias = (frozen(np.sqrt(mean)), frozen(_of_root(mean, spread))), _bias(products, cells)
    return PublishedErrors(release.plan, release.product, number, seed, *rmse, *bias)


def _bias(products: FloatArray, cells: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """The root of the mean square bias of a cell (m,), and its standard error by the jackknife over groups.

    From products (g, g, m) of the mean errors of two groups, of which those of one group with itself do not count, so
    that noise does not add to the square.
    """
    count = len(products)
    apart = products * (1 - np.eye(count))[:, :, None] / cells
    whole = apart.sum(axis=(0, 1))
    squared = whole / (count * (count - 1))
    without = (whole - 2 * apart.sum(axis=1)) / ((count - 1) * (count - 2))
    spread = np.sqrt((count - 1) / count * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return frozen(np.sqrt(np.maximum(squared, 0))), frozen(_of_root(np.maximum(squared, 0), spread))


def _of_root(squared: FloatArray, spread: FloatArray) -> FloatArray:
    """The standard error of a root: how much larger it is where its square is larger by a standard error."""
    return np.sqrt(squared + spread) - np.sqrt(squared)

"""Which settings of RAP to take, and how good they are: errors against the truth, a search over T and K, and a bound.

Errors that are computed from records are not private: take public records of the same kind, or made ones.
Source: docs/adaptive-projection.md eq. (i); Avent and Korolova, sections 3 to 5; Aydore and others 2021, Theorem 4.1.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.rap.mechanism import RapResult
from residualplanner.fits.rap.plan import RapPlan
from residualplanner.fits.rap.tiles import thresholds_of
from residualplanner.ground.checks import require_fraction, require_integer
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.query import QueryLike
from residualplanner.method.workload.workload import Workload
from residualplanner.more.queries.thresholds import Threshold

#: The exact answers to a query, in counts of public records.
Truth = Callable[[QueryLike], ArrayLike]


def future_error(result: RapResult, truth: Truth, queries: Iterable[QueryLike]) -> float:
    """The mean over later queries of the largest error in each, as a fraction of the records."""
    largest = [np.abs(result.table(query) - np.asarray(truth(query))).max() for query in queries]
    return float(np.mean(largest)) / result.total


def present_error(result: RapResult, truth: Truth) -> float:
    """The largest error of all queries of the plan's workload, as a fraction of the records.

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> from residualplanner.fits.rap import rap
        >>> records, pairs = np.array([[0, 0], [1, 1]] * 200), marginals(Domain({"a": 2, "b": 2}), order=2)
        >>> result = rap(RapPlan(pairs, budget=zcdp(50), rounds=1, choices=None), records)
        >>> present_error(result, lambda query: [[200, 0], [0, 200]]) < 0.1
        True
        >>> future_error(result, lambda query: [200, 200], [("a",), ("b",), ("a",)]) < 0.1
        True
    """
    return max(future_error(result, truth, [query]) for query in result.plan.workload)


def augmented_history(history: Workload, count: int, *, seed: int = 0) -> Workload:
    """A history with random thresholds like its first one added, of other attributes, until there are so many.

    Example:
        >>> from residualplanner import Domain
        >>> history = Workload(Domain({"a": 2, "b": 3, "c": 4}), [Threshold(("a", "b"), 1)])
        >>> [list(query) for query in augmented_history(history, 3)]
        [['a', 'b'], ['a', 'c'], ['b', 'c']]
    """
    queries, names = list(history), history.domain.names
    at_least = thresholds_of(history)[0].at_least
    has = {frozenset(query) for query in queries}
    others = [each for each in combinations(names, len(queries[0])) if frozenset(each) not in has]
    if not len(queries) <= require_integer("count", count) <= len(queries) + len(others):
        raise WorkloadError(f"count must be from {len(queries)} to {len(queries) + len(others)}, got {count}")
    drawn = np.random.default_rng(seed).permutation(len(others))[: count - len(queries)]
    return Workload(history.domain, [*queries, *(Threshold(others[number], at_least) for number in drawn)])


def best_rounds_and_choices(
    error: Callable[[int, int], float],
    *,
    rounds: Sequence[int] = (1, 4, 16, 64),
    choices: Sequence[int] = (4, 16, 64, 256),
) -> tuple[tuple[int, int], dict[tuple[int, int], float]]:
    """T and K by few trials: the best product T K along the diagonal, by halving, then all that have this product.

    ``error(T, K)`` is what a trial finds on public records; on private ones each would cost budget.  Both sequences
    ascend and have one length.  Gives the best setting, and the errors of all trials.

    Example:
        >>> best, trials = best_rounds_and_choices(lambda rounds, choices: abs(rounds * choices - 64) + choices)
        >>> best, len(trials)
        ((16, 4), 5)
    """
    found: dict[tuple[int, int], float] = {}

    def tried(setting: tuple[int, int]) -> float:
        if setting not in found:
            found[setting] = error(*setting)
        return found[setting]

    diagonal = list(zip(rounds, choices, strict=True))
    low, high = 0, len(diagonal) - 1
    while low < high:  # errors fall towards the best product and rise from there
        middle = (low + high) // 2
        low, high = (low, middle) if tried(diagonal[middle]) <= tried(diagonal[middle + 1]) else (middle + 1, high)
    wanted = math.prod(diagonal[low])
    settings = [(one, other) for one in rounds for other in choices if one * other == wanted]
    return min(settings, key=tried), found


def rap_accuracy_bound(plan: RapPlan, records: int, *, failure: float = 0.05) -> float:
    """What the root mean square error of RAP without choices exceeds with at most this probability, as a fraction.

    It holds where the fit is exact, answers are not clipped, and the number of records is public.
    Source: docs/adaptive-projection.md eq. (i); Aydore and others 2021, Theorem 4.1, without its constants.

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> triples = marginals(Domain({"a": 9, "b": 9, "c": 9, "d": 9}), order=3)
        >>> plan = RapPlan.published(triples, budget=zcdp("0.1"), rounds=1, choices=None)
        >>> round(rap_accuracy_bound(plan, 10_000), 4)
        0.0103
    """
    if plan.choices is not None or plan.total_cost or plan.own_queries or plan.projection.kind.is_interval:
        raise WorkloadError("the bound is of probabilities, choices=None, workloads and a public number of records")
    tables, sizes = plan.thresholds, plan.workload.domain.sizes
    cells, counted = sum(each.cells for each in tables), sum(each.most_changed(Neighbors()) for each in tables)
    variance = plan.bound({each: each.cells for each in tables}, plan.protected) * plan.protected.cost_factor
    deviation = math.sqrt(variance / plan.answer_cost) / require_integer("records", records)
    universe = math.prod(sizes[position] for position in {position for each in tables for position in each.positions})
    tail = math.log(2 * universe) - math.log(require_fraction("failure", failure))
    noise = 2 * deviation * math.sqrt(2 * counted * tail) / cells
    return math.sqrt(noise) + math.sqrt(counted / (cells * plan.projection.relaxed_records))

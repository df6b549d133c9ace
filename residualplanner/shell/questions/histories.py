"""Queries that are known, and queries that were asked before, as one workload.

Reads: two workloads, how much the second matters.  Gives: a weighted workload.
Source: docs/adaptive-projection.md eq. (k).
"""

from dataclasses import replace

from residualplanner.ground.checks import float_of, require_type, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.workload.workload import Workload


def with_history(prespecified: Workload, historical: Workload, *, history_weight: float) -> Workload:
    """The queries of both workloads, weighted by how much the known and the historical ones matter.

    A relaxed projection of the answers then has the smallest (1 - lambda) * loss(prespecified) + lambda *
    loss(historical), where lambda is ``history_weight``.

    Args:
        prespecified: the queries that will be asked.
        historical: queries of the past, from which those of the future are expected to differ little.
        history_weight: lambda, from 0 (only the prespecified queries matter) to 1 (only the historical ones).

    Returns:
        A workload with the weights of the first times 1 - lambda and those of the second times lambda; a query of both
        has the sum.

    Raises:
        WorkloadError: the workloads are of different domains, or lambda is not between 0 and 1.

    Source: docs/adaptive-projection.md eq. (k).

    Example:
        >>> from residualplanner.method.domain.domain import Domain
        >>> domain = Domain({"a": 2, "b": 3, "c": 4})
        >>> known, past = Workload(domain, [("a", "b"), ("a", "c")]), Workload(domain, [("a", "c"), ("b", "c")])
        >>> with_history(known, past, history_weight=0.25).weights.tolist()
        [0.75, 1.0, 0.25]
    """
    for name, given in (("prespecified", prespecified), ("historical", historical)):
        require_type("with_history", name, given, Workload, "make one with Workload(domain, queries)")
    if not 0 <= float_of(history_weight) <= 1:
        raise WorkloadError(f"history_weight must be between 0 and 1, got {value_text(history_weight)}")
    one = _times(prespecified, 1 - history_weight) + _times(historical, 0)
    other = _times(prespecified, 0) + _times(historical, history_weight)
    if history_weight in (0, 1):  # a query without weight would still be a candidate for measuring
        return historical if history_weight else prespecified
    pairs = zip(one.blocks, other.blocks, strict=True)
    blocks = [replace(mine, weights=mine.weights + its.weights) for mine, its in pairs]
    return Workload.from_blocks(one.domain, blocks, one.kinds)


def _times(workload: Workload, factor: float) -> Workload:
    """The same queries with weights ``factor`` times as large."""
    blocks = [replace(block, weights=factor * block.weights) for block in workload.blocks]
    return Workload.from_blocks(workload.domain, blocks, workload.kinds)

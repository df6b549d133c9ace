"""The queries that users write, as arrays."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, is_data
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.blocks import QueryBlock, block_as_written, merged
from residualplanner.method.workload.query import QueryLike, TiedKinds, WrittenQuery, require_distinct, written_query


def blocks_of_queries(
    domain: Domain, queries: Iterable[QueryLike], weights: ArrayLike | None
) -> tuple[tuple[QueryBlock, ...], tuple[Kind, ...]]:
    """The queries of order 0, 1, .., each once, and the kinds that occur; arguments and errors as those of `Workload`.

    Example:
        >>> blocks, kinds = blocks_of_queries(Domain({"age": 85, "sex": 2}), [("sex", "age"), ("age",)], [1, 2])
        >>> [(block.attributes.tolist(), block.weights.tolist()) for block in blocks], kinds
        ([([], []), ([[0]], [2.0]), ([[0, 1]], [1.0])], (Identity(),))
    """
    if isinstance(queries, str | Mapping | Domain) or not isinstance(queries, Iterable) or is_data(queries):
        raise WorkloadError("queries must be a list of queries; write [query] for a single one")
    tied: TiedKinds = {}
    read = [written_query(domain, query, tied) for query in queries]
    if not read:
        raise WorkloadError("the workload has no queries; name at least one table to publish")
    given = np.ones(len(read)) if weights is None else checked_weights(weights, len(read))
    if not (given > 0).any():
        raise WorkloadError("all weights are 0; at least one query must matter")
    kinds = tuple(dict.fromkeys(kind for query in read for kind in query.in_domain_order.kinds)) or (Identity(),)
    require_distinct(kinds)
    codes = {kind: code for code, kind in enumerate(kinds)}
    orders = np.array([len(query.positions) for query in read])
    blocks = []
    for order in range(orders.max() + 1):
        chosen = np.flatnonzero(orders == order)
        blocks.append(merged(_block([read[i] for i in chosen.tolist()], order, codes, given[chosen])))
    return tuple(blocks), kinds


def _block(queries: list[WrittenQuery], order: int, codes: Mapping[Kind, int], weights: FloatArray) -> QueryBlock:
    """Queries of one order as arrays, one after the other."""
    shape = len(queries), order
    written = np.array([query.positions for query in queries], dtype=np.int32).reshape(shape)
    numbers = np.array([[codes[kind] for kind in query.kinds] for query in queries], dtype=np.int16).reshape(shape)
    return block_as_written(written, numbers, weights)


def checked_weights(weights: ArrayLike, count: int) -> FloatArray:
    """Weights of so many queries as an array, (q,).

    Raises:
        WorkloadError: they are no numbers, of another number, negative, or not finite.
    """
    try:
        array = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise WorkloadError("weights must be numbers, one for each query") from None
    if array.shape != (count,):
        raise WorkloadError(f"one weight for each query: got {count} queries and weights of shape {array.shape}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise WorkloadError("weights must be finite and at least 0")
    return array

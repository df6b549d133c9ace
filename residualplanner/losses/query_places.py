"""Where the queries of one workload stand in another.

Reads: two workloads over one domain.  Gives: numbers of queries.
"""

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.workload import Workload, row_numbers


def query_places(workload: Workload, part: Workload) -> IntArray:
    """The number of each query of ``part`` among the queries of ``workload``, (p,); -1 where it is not one of them.

    Example:
        >>> from residualplanner.domain import Domain
        >>> domain = Domain({"age": 3, "sex": 2, "region": 4})
        >>> whole = Workload(domain, [("age",), ("sex",), ("age", "sex")])
        >>> query_places(whole, Workload(domain, [("age", "sex"), ("region",), ("sex",)])).tolist()
        [1, -1, 2]
    """
    recode = np.array([_index(workload.kinds, kind) for kind in part.kinds], dtype=np.int64)
    places, start = [], 0
    for order, block in enumerate(part.blocks):
        theirs = workload.blocks[order] if order < len(workload.blocks) else None
        mine = np.concatenate([block.attributes.astype(np.int64), recode[block.kinds]], axis=1)
        if theirs is None or not len(theirs) or not len(block):
            places.append(np.full(len(block), -1))
        else:
            known = np.concatenate([theirs.attributes.astype(np.int64), theirs.kinds.astype(np.int64)], axis=1)
            number = row_numbers(np.concatenate([known, mine]))
            place = np.full(int(number.max()) + 1, -1)
            place[number[: len(known)]] = start + np.arange(len(known))
            places.append(place[number[len(known) :]])
        start += 0 if theirs is None else len(theirs)
    found: IntArray = np.concatenate(places).astype(np.int64)
    return found


def _index(kinds: tuple[object, ...], kind: object) -> int:
    """Which of the kinds it is, and a number that none of them has if it is another."""
    return kinds.index(kind) if kind in kinds else len(kinds)

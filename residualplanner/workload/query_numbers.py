"""Which queries of one workload are those of another.

Reads: two workloads over one domain.  Gives: numbers of queries.
"""

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.workload.attribute_sets import row_numbers
from residualplanner.workload.workload import Workload


def query_numbers(workload: Workload, part: Workload) -> IntArray:
    """The number of each query of ``part`` among the queries of ``workload``, (p,); -1 where it is not one of them.

    Example:
        >>> from residualplanner.domain import Domain
        >>> domain = Domain({"age": 3, "sex": 2, "region": 4})
        >>> whole = Workload(domain, [("age",), ("sex",), ("age", "sex")])
        >>> query_numbers(whole, Workload(domain, [("age", "sex"), ("region",), ("sex",)])).tolist()
        [1, -1, 2]
    """
    recode = np.array([_index(workload.kinds, kind) for kind in part.kinds], dtype=np.int64)
    found, start = [], 0
    for order, block in enumerate(part.blocks):
        theirs = workload.blocks[order] if order < len(workload.blocks) else None
        mine = np.concatenate([block.attributes.astype(np.int64), recode[block.kinds]], axis=1)
        if theirs is None or not len(theirs) or not len(block):
            found.append(np.full(len(block), -1))
        else:
            known = np.concatenate([theirs.attributes.astype(np.int64), theirs.kinds.astype(np.int64)], axis=1)
            number = row_numbers(np.concatenate([known, mine]))
            known_as = np.full(int(number.max()) + 1, -1)
            known_as[number[: len(known)]] = start + np.arange(len(known))
            found.append(known_as[number[len(known) :]])
        start += 0 if theirs is None else len(theirs)
    numbers: IntArray = np.concatenate(found).astype(np.int64)
    return numbers


def _index(kinds: tuple[object, ...], kind: object) -> int:
    """Which of the kinds it is, and a number that none of them has if it is another."""
    return kinds.index(kind) if kind in kinds else len(kinds)

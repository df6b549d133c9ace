"""Which queries of one workload are those of another."""

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.blocks import block_of_order
from residualplanner.method.workload.workload import Workload


def query_numbers(workload: Workload, part: Workload) -> IntArray:
    """The number of each query of ``part`` among the queries of ``workload``, (p,); -1 where it is not one of them.

    Example:
        >>> from residualplanner import Domain
        >>> domain = Domain({"age": 3, "sex": 2, "region": 4})
        >>> whole = Workload(domain, [("age",), ("sex",), ("age", "sex")])
        >>> query_numbers(whole, Workload(domain, [("age", "sex"), ("region",), ("sex",)])).tolist()
        [1, -1, 2]
    """
    codes = {kind: code for code, kind in enumerate(workload.kinds)}
    recode = np.array([codes.get(kind, len(codes)) for kind in part.kinds], dtype=np.int64)
    found, start = [], 0
    for order, block in enumerate(part.blocks):
        theirs = block_of_order(workload.blocks, order)
        rows = [np.concatenate([theirs.attributes, theirs.kinds], axis=1)]
        rows.append(np.concatenate([block.attributes, recode[block.kinds]], axis=1))
        number = row_numbers(np.concatenate(rows))
        known_as = np.full(int(number.max(initial=-1)) + 1, -1)
        known_as[number[: len(theirs)]] = start + np.arange(len(theirs))
        found.append(known_as[number[len(theirs) :]])
        start += len(theirs)
    numbers: IntArray = np.concatenate(found)
    return numbers

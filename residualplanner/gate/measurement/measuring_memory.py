"""The memory that measuring takes: counts without noise yet, answers, and work on some tables at a time.

Reads: sets of attributes by their bases, a number of bytes.  Gives: bytes.

The constants were found by ``benchmarks/measuring_memory.py``, which compares these numbers with what it measures.
"""

import math
from itertools import accumulate

from residualplanner.method.strategy.basis_groups import BasisGroups

#: Bytes for a count, and for an answer.
BYTES_OF_NUMBER = 8
#: Further bytes for each cell of a table that is worked on: noise, products, a block of counts that is added; and how
#: many of the largest tables there are at once, as threads draw noise ahead.
_WORKING, _AT_ONCE = 24, 3
#: Bytes for each set of attributes: where its table stands, of which larger table it is the sum; and in any case.
_SET_BYTES, _LEAST_BYTES = 65, 2**23


def counts_and_answers_bytes(groups: BasisGroups) -> int:
    """The most bytes of counts and answers that measuring holds at a time.

    Counts are released group by group as answers are computed, so that the two are never held in full together.

    Example:
        >>> from residualplanner.method.domain.domain import Domain
        >>> from residualplanner.method.strategy.basis_groups import basis_groups
        >>> from residualplanner.method.strategy.strategy import subtraction_strategy
        >>> from residualplanner.method.workload.workload import Workload
        >>> counts_and_answers_bytes(basis_groups(subtraction_strategy(Workload(Domain({"a": 1000}), [("a",)]))))
        16000
    """
    tables = [math.prod(shape) for shape in groups.shapes]
    sets = [len(members) for members in groups.members]
    counts = [cells * number for cells, number in zip(tables, sets, strict=True)]
    answers = [math.prod(shape) * number for shape, number in zip(groups.answer_shapes, sets, strict=True)]
    left = [sum(counts) - done for done in accumulate(counts[:-1], initial=0)]
    return BYTES_OF_NUMBER * max(waiting + made for waiting, made in zip(left, accumulate(answers), strict=True))


def working_bytes(groups: BasisGroups) -> int:
    """Bytes besides counts and answers: what work on the largest tables takes."""
    cells = [math.prod(shape) for shape in groups.shapes]
    every = sum(number * len(members) for number, members in zip(cells, groups.members, strict=True))
    return _WORKING * min(every, _AT_ONCE * max(cells))


def measuring_bytes(groups: BasisGroups, memory: int | None = None) -> int:
    """About how many bytes measuring takes at most, besides the records and the plan.

    Args:
        groups: the sets by the bases of their attributes.
        memory: how many bytes of counts, answers and work may be held at once, the rest being left on disk; by default
            all are held.
    """
    held = counts_and_answers_bytes(groups) + working_bytes(groups)
    return min(held, held if memory is None else memory) + _SET_BYTES * len(groups.group) + _LEAST_BYTES

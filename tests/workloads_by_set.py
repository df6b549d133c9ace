"""Small workloads for which bases by set are better than one basis for each attribute."""

import residualplanner as rp
from benchmarks.dense_optimum import workload

PREFIX, RANGE, IDENTITY = rp.Prefix(), rp.Range(), rp.Identity()
#: Besides the total it has one direction, of the three that its three distinct values have.
FLAT = rp.Custom([[1, 1, 1, 1], [0, 0, 1, 2]])

TINY = workload((5, 4), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}], [1, 2, 1])
#: The query of weight 0 matters only to which factors have the same basis.
THREE = workload(
    (4, 3, 3),
    [{0: PREFIX}, {0: IDENTITY, 1: PREFIX}, {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}, {1: RANGE, 2: PREFIX}],
    [3, 1, 2, 0],
)
#: An attribute with values that nothing tells apart and a direction that no query depends on, one of one value, and
#: one queried for values only.
ODD = workload(
    (4, 3, 1, 2),
    [{0: FLAT}, {0: FLAT, 1: PREFIX, 3: IDENTITY}, {1: IDENTITY, 2: PREFIX}, {1: PREFIX, 2: IDENTITY, 3: IDENTITY}],
)
#: Sets that differ in attributes queried for values only have the same bases, so their costs go together.
SAME_BASES = workload(
    (4, 3, 2, 3),
    [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}, {0: IDENTITY, 1: IDENTITY, 3: IDENTITY}],
    [4, 4, 1, 1],
)
#: Three attributes that can be exchanged; their pairs have two factors in one group.
EXCHANGED = workload(
    (4, 4, 4, 2),
    [{i: PREFIX} for i in range(3)]
    + [{0: IDENTITY, 1: IDENTITY}, {0: IDENTITY, 2: IDENTITY}, {1: IDENTITY, 2: IDENTITY}]
    + [{i: IDENTITY, 3: IDENTITY} for i in range(3)],
)
#: Four attributes in the same kinds, in a ring of pairs: they cannot be exchanged one by one.
RING = workload(
    (3, 3, 3, 3), [{i: PREFIX} for i in range(4)] + [{i: IDENTITY, (i + 1) % 4: IDENTITY} for i in range(4)]
)

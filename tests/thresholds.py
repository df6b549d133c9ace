"""Random workloads with thresholds among other queries, and their rows, written out record by record."""

import math

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import residualplanner as rp
from dense import Matrix
from strategies import NAMES

#: What an attribute of a threshold may have in another query, too, and what others may have.
ALONE, BESIDE = rp.Identity(), (rp.Identity(), rp.Prefix())


def rows_of(sizes: tuple[int, ...], query: object) -> Matrix:
    """The rows of a query over the whole domain: what each kind of record counts in each cell, in C order."""
    kinds = dict(query) if isinstance(query, dict | rp.Threshold) else dict.fromkeys(query, rp.Identity())
    axes = [NAMES.index(name) for name in kinds]
    shape = [kind.rows(sizes[i]) for i, kind in zip(axes, kinds.values(), strict=True)]
    matrices = [kind.matrix(sizes[i]) for i, kind in zip(axes, kinds.values(), strict=True)]
    found = np.zeros((math.prod(shape), math.prod(sizes)))
    for row, cell in enumerate(np.ndindex(*shape)):
        for column, record in enumerate(np.ndindex(*sizes)):
            entries = [matrix[y, record[i]] for matrix, y, i in zip(matrices, cell, axes, strict=True)]
            found[row, column] = counted(entries, list(kinds.values()))
    return found


def counted(entries: list[float], kinds: list[object]) -> float:
    """What a record counts, from its entry for each attribute: a product, or whether enough of a group match."""
    groups = {kind for kind in kinds if isinstance(kind, rp.Matching)}
    alone = math.prod(x for x, kind in zip(entries, kinds, strict=True) if kind not in groups)
    matches = {kind: sum(x for x, own in zip(entries, kinds, strict=True) if own == kind) for kind in groups}
    return alone * all(matches[kind] >= kind.at_least for kind in groups)


@st.composite
def threshold_workloads(draw: st.DrawFn, *, most_cells: int = 24, smallest: int = 1, exchangeable: bool = False):
    """A small workload in which some queries are thresholds, some of these beside other kinds; and its sizes.

    Where values are ``exchangeable``, no attribute has other kinds than single values.
    """
    sizes: list[int] = []
    for _ in range(draw(st.integers(2, 4))):
        sizes.append(draw(st.integers(smallest, max(smallest, min(4, most_cells // math.prod(sizes))))))
    matched = draw(st.sets(st.integers(0, len(sizes) - 1), min_size=2))
    queries = [rp.Threshold(tuple(NAMES[i] for i in sorted(matched)), draw(st.integers(1, len(matched))))]
    for _ in range(draw(st.integers(0, 4))):
        queries.append(draw(one_query(len(sizes), frozenset(matched), exchangeable)))
    domain = rp.Domain(dict(zip(NAMES, sizes, strict=False)))
    weights = [draw(st.floats(0.1, 10)) for _ in queries]
    try:
        return rp.Workload(domain, queries, weights=weights), tuple(sizes)
    except rp.errors.WorkloadError:
        assume(False)


@st.composite
def one_query(draw: st.DrawFn, count: int, matched: frozenset[int], exchangeable: bool):
    """A query on some attributes, in any order: of the ``matched`` ones each alone or some together."""
    members = draw(st.lists(st.integers(0, count - 1), unique=True, min_size=1))
    together = [i for i in members if i in matched]
    at_least = draw(st.integers(0, max(0, len(together) - 1)))
    if at_least and len(together) == len(members):
        return rp.Threshold(tuple(NAMES[i] for i in members), at_least)
    kinds = {i: ALONE if exchangeable or i in matched else draw(st.sampled_from(BESIDE)) for i in members}
    if at_least:
        kinds |= dict.fromkeys(together, rp.Matching(at_least))
    return {NAMES[i]: kind for i, kind in kinds.items()}

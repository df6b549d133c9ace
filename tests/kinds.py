"""Random kinds of query, with the matrices that their definitions say, written out entry by entry."""

import numpy as np
from hypothesis import strategies as st

from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload
from residualplanner.method.queries.json import kind_from_json

entries = st.integers(-3, 3).map(float) | st.floats(-4, 4).map(lambda number: round(number, 3))


def prefix_rows(size: int) -> list[list[float]]:
    return [[float(column <= row) for column in range(size)] for row in range(size)]


def range_rows(size: int) -> list[list[float]]:
    pairs = [(first, last) for first in range(size) for last in range(first, size)]
    return [[float(first <= column <= last) for column in range(size)] for first, last in pairs]


def identity_rows(size: int) -> list[list[float]]:
    return [[float(row == column) for column in range(size)] for row in range(size)]


@st.composite
def partitions(draw: st.DrawFn, size: int) -> list[list[int]]:
    """The codes 0 .. size-1 in groups, in any order."""
    codes = draw(st.permutations(range(size)))
    cuts = sorted(draw(st.sets(st.integers(1, size - 1)))) if size > 1 else []
    return [list(codes[i:j]) for i, j in zip([0, *cuts], [*cuts, size], strict=True)]


@st.composite
def hierarchies(draw: st.DrawFn, size: int) -> tuple[Hierarchy, list[list[float]]]:
    """Two levels of groups, the coarser written in groups of the finer, and the matrix they mean."""
    fine = draw(partitions(size))
    coarse = [[fine[number] for number in group] for group in draw(partitions(len(fine)))]
    named = {f"fine {number}": group for number, group in enumerate(fine)}
    above = {f"coarse {number}": [f"fine {fine.index(part)}" for part in parts] for number, parts in enumerate(coarse)}
    total, leaves = draw(st.booleans()), draw(st.booleans())
    groups = [[code for part in parts for code in part] for parts in coarse] + fine
    rows = [[1.0] * size] * total + [[float(code in group) for code in range(size)] for group in groups]
    return Hierarchy([above, named], total=total, leaves=leaves), rows + identity_rows(size) * leaves


@st.composite
def matrices(draw: st.DrawFn, size: int) -> list[list[float]]:
    """Rows that are not all zeros, one of them the row of ones."""
    row = st.lists(entries, min_size=size, max_size=size).filter(any)
    rows = draw(st.lists(row, max_size=4))
    rows.insert(draw(st.integers(0, len(rows))), [1.0] * size)
    return rows


@st.composite
def kinds_of(draw: st.DrawFn, size: int, more_rows: tuple[tuple[float, ...], ...] = ()):
    """A kind for an attribute of ``size`` values, a custom one with ``more_rows``; its matrix by definition."""
    word = draw(st.sampled_from(["identity", "prefix", "range", "hierarchy", "custom"]))
    if word == "hierarchy":
        kind, rows = draw(hierarchies(size))
    elif word == "custom":
        rows = [*draw(matrices(size)), *map(list, more_rows)]
        kind = Custom(rows)
    else:
        known = {"identity": (Identity, identity_rows), "prefix": (Prefix, prefix_rows), "range": (Range, range_rows)}
        kind, rows = known[word][0](), known[word][1](size)
    return kind, np.array(rows)


@st.composite
def kinds_with_sizes(draw: st.DrawFn, most: int = 7):
    """A kind, the size of its attribute, and its matrix by definition, (q, n)."""
    size = draw(st.integers(1, most))
    kind, rows = draw(kinds_of(size))
    return kind, size, rows


def tied(kind, attribute):
    """The kind as a workload holds it: tied to the values of the attribute."""
    (found,) = Workload(Domain({attribute.name: attribute}), [{attribute.name: kind}]).kinds
    return found


def read_kind(value):
    """The kind that an object in a plan file says."""
    return kind_from_json(value)

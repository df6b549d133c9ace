"""Random domains with amounts, and what counts, sums and kinds on bins mean there, written out by definition."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kinds import kinds_of
from residualplanner import Attribute, Domain, Hierarchy, Numeric, Sum

Rows = list[list[float]]


def cell_rows(attribute: Attribute) -> np.ndarray:
    """Which bin, or label of its own, each cell is of, (bins and labels, cells)."""
    if attribute.numeric is None:
        return np.eye(attribute.size)
    bins, own, cells = len(attribute.numeric.edges) - 1, len(attribute.own_labels), cells_of_bin(attribute)
    found = np.zeros((bins + own, cells * bins + own))
    for number in range(bins):
        found[number, cells * number : cells * number + cells] = 1
    for number in range(own):
        found[bins + number, cells * bins + number] = 1
    return found


def cells_of_bin(attribute: Attribute) -> int:
    """Two, or three with squares."""
    return 3 if attribute.numeric.squares else 2


def sum_rows(attribute: Attribute, by: str | None) -> np.ndarray:
    """The ends of each bin in its cells, in one row or in one for each bin."""
    edges = [float(edge * attribute.numeric.unit) for edge in attribute.numeric.edges]
    found, cells = np.zeros((len(edges) - 1, attribute.size)), cells_of_bin(attribute)
    for number, (low, high) in enumerate(pairwise(edges)):
        amounts = [low, (low + high) / 2, high] if cells == 3 else [low, high]
        found[number, cells * number : cells * number + cells] = amounts
    return found if by == "bin" else found.sum(axis=0, keepdims=True)


@st.composite
def attributes_of_amounts(draw, name: str) -> Attribute:
    widths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    first, unit = draw(st.sampled_from([-4, 0, 3])), draw(st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(10)]))
    edges = [(first + sum(widths[:number])) * unit for number in range(len(widths) + 1)]
    missing = draw(st.sampled_from(["error", "Not stated"]))
    squares = draw(st.booleans())
    numeric = Numeric(edges[0], edges[-1], unit=unit, bins=edges[1:-1], outside="clip", squares=squares)
    return Attribute(name, numeric=numeric, missing=missing)


@st.composite
def kinds_of_attribute(draw, attribute: Attribute) -> tuple[Any, np.ndarray]:
    """A kind as users write it, and its matrix over the cells."""
    is_sum = attribute.numeric is not None and (attribute.by_bin.size == 1 or draw(st.booleans()))
    if is_sum:
        by = draw(st.sampled_from([None, "bin"]))
        return Sum(by), sum_rows(attribute, by)
    size = attribute.by_bin.size
    kind, rows = draw(kinds_of(size).filter(lambda found: size == 1 or np.linalg.matrix_rank(found[1]) > 1))
    return _in_labels(kind, attribute), rows @ cell_rows(attribute)


def _in_labels(kind: Any, attribute: Attribute) -> Any:
    """A hierarchy of codes as one of the labels of bins; any other kind as it is."""
    if not isinstance(kind, Hierarchy):
        return kind
    labels = attribute.by_bin.value_labels
    levels = [
        {name: [labels[member] if isinstance(member, int) else member for member in members] for name, members in level}
        for level in kind.levels
    ]
    return Hierarchy(levels, total=kind.total or False, leaves=kind.leaves)


@dataclass(frozen=True)
class Asked:
    """A domain with amounts, queries as users write them, and their matrices over all cells of the domain."""

    domain: Domain
    queries: list[dict[str, Any]]
    matrices: list[Mapping[int, np.ndarray]]

    def rows(self, number: int) -> np.ndarray:
        """The rows of a query over the whole domain."""
        found = np.ones((1, 1))
        for position, size in enumerate(self.domain.sizes):
            found = np.kron(found, self.matrices[number].get(position, np.ones((1, size))))
        return found


@st.composite
def asked(draw) -> Asked:
    """One or two attributes of amounts, up to two others; the table of all, and others."""
    shapes = draw(st.lists(st.integers(2, 3), max_size=1))
    columns = [Attribute(name, size) for name, size in zip("ab", shapes, strict=False)]
    columns += [draw(attributes_of_amounts(name)) for name in draw(st.sampled_from(["x", "xy"]))]
    domain = Domain({column.name: column for column in columns})
    queries, matrices = [], []
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(st.sets(st.integers(0, len(columns) - 1), min_size=1))
        kinds = {position: draw(kinds_of_attribute(columns[position])) for position in sorted(chosen)}
        queries.append({columns[position].name: kind for position, (kind, _) in kinds.items()})
        matrices.append({position: rows for position, (_, rows) in kinds.items()})
    return Asked(domain, [*queries, {}], [*matrices, {}])


def record(attribute: Attribute, entry: Any) -> np.ndarray:
    """Where a record with this entry counts along an attribute, in fractions of a record, by the definition."""
    found = np.full(attribute.size, Fraction(0))
    if attribute.numeric is None:
        found[entry] = Fraction(1)
    elif entry is None:
        found[-1] = Fraction(1)
    else:
        edges = [edge * attribute.numeric.unit for edge in attribute.numeric.edges]
        value = min(max(Fraction(entry), edges[0]), edges[-1])
        number = max(i for i in range(len(edges) - 1) if edges[i] <= value)
        way = (value - edges[number]) / (edges[number + 1] - edges[number])
        parts = [(1 - way) ** 2, 2 * way * (1 - way), way**2] if attribute.numeric.squares else [1 - way, way]
        found[len(parts) * number : len(parts) * (number + 1)] = parts
    return found


@st.composite
def entries_of(draw, attribute: Attribute) -> Any:
    if attribute.numeric is None:
        return draw(st.integers(0, attribute.size - 1))
    numeric = attribute.numeric
    low, high = numeric.edges[0] - 2, numeric.edges[-1] + 2
    amount = st.integers(low, high).map(lambda units: float(units * numeric.unit))
    return draw(amount | st.none() if attribute.own_labels else amount)


@st.composite
def records_of(draw, domain: Domain) -> list[tuple[Any, ...]]:
    one = st.tuples(*(entries_of(attribute) for attribute in domain.attributes))
    return draw(st.lists(one, max_size=6))


def data_vector(domain: Domain, records: list[tuple[Any, ...]]) -> np.ndarray:
    """The sum of all records as exact fractions over the cells of the whole domain, flat."""
    total = np.full(int(np.prod(domain.sizes)), Fraction(0))
    for entries in records:
        one = np.array([Fraction(1)])
        for attribute, entry in zip(domain.attributes, entries, strict=True):
            one = np.outer(one, record(attribute, entry)).ravel()
        total = total + one
    return total

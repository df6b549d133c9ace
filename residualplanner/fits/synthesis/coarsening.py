"""Coarsened attributes: groups of the values of an attribute, as few as the noise lets show.

Whatever decides on the groups was released before, so that they cost nothing.
Source: docs/mathematics.md section 13, on stages.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.labels import label_text

#: How many groups an attribute may have, if not one for each value.
_COUNTS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256, 362, 512)
#: From this fraction of its values on, every value is a group of its own.
_MOST = 0.75
#: The largest tables of two attributes that are measured have at least so many cells, whatever the noise.
_FEWEST_CELLS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Coarsening:
    """An attribute with its values in groups."""

    attribute: int  # its position in the domain
    groups: IntArray  # (n,): the group of each value, from 0, each of which has a value

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(self.groups.max()) + 1

    @property
    def is_fine(self) -> bool:
        """Whether every value is a group of its own, in the order of the values."""
        return np.array_equal(self.groups, np.arange(len(self.groups)))

    @property
    def key(self) -> tuple[int, bytes]:
        """Equal for equal coarsenings."""
        return self.attribute, self.groups.tobytes()

    @property
    def indicators(self) -> FloatArray:
        """Which values each group has, (m, n), as 1 or 0."""
        found = np.zeros((self.count, len(self.groups)))
        found[self.groups, np.arange(len(self.groups))] = 1
        return found

    def summed(self, table: IntArray, axis: int) -> IntArray:
        """A table with the counts of each group along an axis, instead of those of each value."""
        if self.is_fine:
            return table
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(self.count))
        return np.asarray(np.add.reduceat(table.take(order, axis), starts, axis))


def has_order(attribute: Attribute) -> bool:
    """Whether the order of an attribute's values means something, as it does unless they are texts or truth values."""
    return attribute.matching not in ("text", "truth")


def fine(attribute: int, size: int) -> Coarsening:
    """An attribute as it is, of so many values."""
    return Coarsening(attribute, frozen(np.arange(size)))


def all_fine(domain: Domain) -> tuple[Coarsening, ...]:
    """All attributes as they are."""
    return tuple(fine(attribute, size) for attribute, size in enumerate(domain.sizes))


def equal_mass(attribute: int, probabilities: FloatArray, count: int, *, is_ordered: bool = True) -> Coarsening:
    """About so many groups of values of about equal probability, or every value by itself where these are few.

    They are runs of values; where these have no order, of values by how probable they are, so that rare ones are in
    one group.
    """
    size = len(probabilities)
    if count >= _MOST * size:
        return fine(attribute, size)
    order = np.arange(size) if is_ordered else np.argsort(-probabilities, kind="stable")
    sorted_ = probabilities[order]
    middles = (np.cumsum(sorted_) - sorted_ / 2) / sorted_.sum()
    groups = np.empty(size, dtype=np.int64)
    groups[order] = np.minimum((middles * count).astype(np.int64), count - 1)
    return Coarsening(attribute, frozen(np.unique(groups, return_inverse=True)[1].astype(np.int64)))


def counts_within(sizes: Sequence[int], cells: float) -> list[int]:
    """How many groups each attribute may have for a table of at most so many cells: many, and as equal as can be."""
    options = [[*(count for count in _COUNTS if count < _MOST * size), size] for size in sizes]
    most, chosen = max(cells, _FEWEST_CELLS), [0] * len(sizes)
    while True:
        counts = [own[number] for own, number in zip(options, chosen, strict=True)]
        larger = [
            axis
            for axis, own in enumerate(options)
            if chosen[axis] + 1 < len(own) and math.prod(counts) // counts[axis] * own[chosen[axis] + 1] <= most
        ]
        if not larger:
            return counts
        chosen[min(larger, key=lambda axis: (counts[axis], axis))] += 1


def coarsened_domain(domain: Domain, coarsenings: Sequence[Coarsening]) -> Domain:
    """The domain of different coarsenings, in which an attribute that is not coarsened keeps its name and values."""
    attributes: dict[str, Attribute] = {}
    for each in coarsenings:
        own = domain.attributes[each.attribute]
        if each.is_fine:
            attributes[own.name] = own
            continue
        name = f"{own.name} in {each.count} groups"
        while name in attributes or name in domain.names:
            name += ", differently"
        attributes[name] = Attribute(name, labels=_labels(own, each))
    return Domain(attributes)


def _labels(attribute: Attribute, coarsening: Coarsening) -> list[str]:
    """What each group is called: its first value and its last, or all where others are between."""
    found, texts = [], list(map(label_text, attribute.value_labels))
    for group in range(coarsening.count):
        values = np.flatnonzero(coarsening.groups == group)
        own, is_run = [texts[value] for value in values.tolist()], len(values) == values[-1] - values[0] + 1
        found.append(f"{own[0]} to {own[-1]}" if is_run and len(own) > 1 else " or ".join(own))
    return found

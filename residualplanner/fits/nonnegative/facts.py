"""What is known anyway, from elsewhere: tables that are public, and cells that cannot occur.

Reads: a plan.  Gives: Facts: tables of counts by value, and which cells must be 0.  Contradictions are refused by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from residualplanner.fits.nonnegative.cells import cell_kinds
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity

#: Counts that differ by less than this, relative to the largest, are equal.
EQUAL = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Fact:
    """Counts that are known, or which of them can be positive.

    Attributes:
        words: how the user wrote it.
        statement: what it says, for readers of the tables.
        attributes: their positions in the domain, ascending, without those of a single value.
        counts (n_1, .., n_k): by value; of cells that cannot occur 0, of others 1, where only that is known.
    """

    words: str
    statement: str
    attributes: tuple[int, ...]
    counts: FloatArray

    def over(self, attributes: Sequence[int]) -> FloatArray:
        """The counts of some of its attributes, summed over the others."""
        away = tuple(axis for axis, attribute in enumerate(self.attributes) if attribute not in attributes)
        found: FloatArray = self.counts.sum(axis=away)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """All that is known.

    Attributes:
        known: tables.
        impossible: cells that cannot occur.
    """

    known: tuple[Fact, ...] = ()
    impossible: tuple[Fact, ...] = ()

    @property
    def zeros(self) -> tuple[Fact, ...]:
        """Facts that say which cells are 0."""
        return (*self.known, *self.impossible)

    @property
    def words(self) -> str:
        """All of them, as the user wrote them."""
        return ", ".join(fact.words for fact in self.zeros)

    @property
    def statements(self) -> tuple[str, ...]:
        """What each says, for readers of the tables."""
        return tuple(fact.statement for fact in self.zeros)

    @property
    def are_about_tables(self) -> bool:
        """Whether more is known than the total."""
        return any(fact.attributes for fact in self.known) or bool(self.impossible)


def cell_counts(plan: Plan, attributes: Sequence[int], counts: FloatArray) -> FloatArray:
    """Counts by value as cells of the plan."""
    kinds = cell_kinds(plan)
    for axis, attribute in enumerate(attributes):
        if kinds[attribute] != Identity():
            counts = kinds[attribute].apply(counts, axis)
    return counts


def require_agreement(plan: Plan, facts: Facts) -> None:
    """Raise WorkloadError, naming them, where facts contradict each other."""
    _require_possible(facts)
    for one, other in combinations(facts.known, 2):
        common = [attribute for attribute in one.attributes if attribute in other.attributes]
        mine, theirs = (cell_counts(plan, common, fact.over(common)) for fact in (one, other))
        if not np.allclose(mine, theirs, rtol=0, atol=EQUAL * max(1.0, np.abs(mine).max())):
            names = tuple(plan.domain.names[attribute] for attribute in common)
            about = f"about {names!r}" if names else "about the total"
            raise WorkloadError(f"{one.words} and {other.words} contradict each other {about}; correct one of them")
    for fact in facts.known:
        for cells in facts.impossible:
            if not set(cells.attributes) <= set(fact.attributes):
                continue
            there = fact.over(cells.attributes)[cells.counts == 0]
            if (there > EQUAL * max(1.0, np.abs(there).max(initial=0))).any():
                raise WorkloadError(f"{fact.words} and {cells.words} contradict each other; correct one of them")


def _require_possible(facts: Facts) -> None:
    """Raise WorkloadError where cells that cannot occur are all that there are, and it is not known that all are 0."""
    if any(not fact.counts.sum() for fact in facts.known):
        return
    for attributes in {fact.attributes for fact in facts.impossible}:
        about = [fact for fact in facts.impossible if fact.attributes == attributes]
        if not np.all([fact.counts for fact in about], axis=0).any():
            words = ", ".join(fact.words for fact in about)
            raise WorkloadError(
                f"{words}: no cell is left in which a record could be; correct this, or write known={{(): 0}} if there "
                "are no records"
            )

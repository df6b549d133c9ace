"""What is known anyway, from elsewhere: tables that are public, and cells that cannot occur.

And between which numbers the true counts of a table then are.
"""

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.fits.nonnegative.components import cell_kinds
from residualplanner.ground.checks import FloatArray, frozen, value_text
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind, answered_jointly
from residualplanner.method.workload.query import QueryLike, WrittenQuery, query_of, written_query
from residualplanner.release.product import Origin
from residualplanner.release.table import Table

#: Counts that differ by less than this, relative to the largest, are equal.
EQUAL = 1e-9
#: The largest count that is known, up to which every integer is a number of double precision.
_LARGEST = 2**53
#: The kinds of arrays that are no counts, though they can be made numbers: texts, and what is true or false.
_NO_NUMBERS = "USb"
Stated = TypeVar("Stated", "StatedTable", "StatedZeros")


@dataclass(frozen=True, eq=False, slots=True)
class Fact:
    """Counts that are known, or which of them can be positive."""

    words: str  # how the user wrote it
    statement: str  # what it says, for readers of the tables
    attributes: tuple[int, ...]  # their positions in the domain, ascending, without those of a single value
    counts: FloatArray  # (n_1, .., n_k): by value; of cells that cannot occur 0, of others 1, where only that is known

    def over(self, attributes: Sequence[int]) -> FloatArray:
        """The counts of some of its attributes, summed over the others."""
        away = tuple(axis for axis, attribute in enumerate(self.attributes) if attribute not in attributes)
        found: FloatArray = self.counts.sum(axis=away)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Facts:
    """All that is known."""

    known: tuple[Fact, ...] = ()  # tables
    impossible: tuple[Fact, ...] = ()  # cells that cannot occur

    @property
    def zeros(self) -> tuple[Fact, ...]:
        """Facts that say which cells are 0."""
        return (*self.known, *self.impossible)

    @property
    def words(self) -> str:
        """All of them, as the user wrote them."""
        return ", ".join(fact.words for fact in self.zeros)

    @property
    def leave_no_records(self) -> bool:
        """Whether it is known that there are none."""
        return any(not fact.counts.sum() for fact in self.known)

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
    for one, other in combinations(facts.known, 2):
        common = [attribute for attribute in one.attributes if attribute in other.attributes]
        mine, theirs = (cell_counts(plan, common, fact.over(common)) for fact in (one, other))
        if not np.allclose(mine, theirs, rtol=0, atol=EQUAL * max(1.0, np.abs(mine).max())):
            names = tuple(plan.domain.names[attribute] for attribute in common)
            about = f"about {names!r}" if names else "about the total"
            raise WorkloadError(f"{one.words} and {other.words} contradict each other {about}; correct one of them")
    for cells in facts.impossible:
        if not cells.counts.any() and not facts.leave_no_records:
            raise WorkloadError(
                f"{cells.words}: no cell is left in which a record could be; correct this, or write known={{(): 0}}"
            )
        for fact in facts.known:
            if not set(cells.attributes) <= set(fact.attributes):
                continue
            there = fact.over(cells.attributes)[cells.counts == 0]
            if (there > EQUAL * max(1.0, np.abs(there).max(initial=0))).any():
                raise WorkloadError(f"{fact.words} and {cells.words} contradict each other; correct one of them")


class StatedTable(NamedTuple):
    """A table that is known, and what messages call it, such as where it stands in a file."""

    query: QueryLike  # which table
    counts: ArrayLike | Table  # in the shape of the query's table
    words: str = ""  # ``known[query]`` if empty


class StatedZeros(NamedTuple):
    """Cells that cannot occur, and what messages call them."""

    cells: Mapping[str, Any]  # from attribute names to a label, or several
    words: str = ""  # ``impossible[cells]`` if empty


#: Cells that cannot occur, as users write them: from attribute names to a label, or several.
Impossible = Mapping[str, Any] | StatedZeros

#: Known tables, as users write them: by query, or as pairs of a query and a table.
Known = Mapping[QueryLike, ArrayLike | Table] | Iterable[tuple[QueryLike, ArrayLike | Table] | StatedTable]


def read_facts(plan: Plan, known: Known | None, impossible: Iterable[Impossible]) -> Facts:
    """The facts as arrays by value."""
    if isinstance(impossible, Mapping | str) or not isinstance(impossible, Iterable):
        raise WorkloadError('impossible must be a list of mappings; write [{"age": [0, 1], "marital": "married"}]')
    try:
        tables = [StatedTable(*each) for each in (known.items() if isinstance(known, Mapping) else known or ())]
    except TypeError:
        raise WorkloadError(
            "known must be a mapping from queries to tables, or a list of pairs of these; write {(): 40_000} for a "
            "known total"
        ) from None
    zeros = (each if isinstance(each, StatedZeros) else StatedZeros(each) for each in impossible)
    facts = Facts(
        tuple(_read(_known, plan, each) for each in tables), tuple(_read(_impossible, plan, z) for z in zeros)
    )
    require_agreement(plan, facts)
    return facts


def _read(read: Callable[[Plan, Stated], Fact], plan: Plan, stated: Stated) -> Fact:
    """A fact; what messages call it comes before those about attributes and labels that are not in the domain."""
    try:
        return read(plan, stated)
    except DomainError as error:
        where = f"{stated.words}: " if stated.words else ""
        raise DomainError(f"{where}{error}", attributes=error.attributes) from None


def _known(plan: Plan, stated: StatedTable) -> Fact:
    domain = plan.domain
    written = written_query(domain, stated.query)
    words = stated.words or f"known[{query_of(domain, *written)!r}]"
    if written.universe.positions:
        raise WorkloadError(
            f"{words}: it is about some of the records; give the table of all of them, with the attributes "
            f"{[domain.names[position] for position in written.positions]}, or leave it out"
        )
    shape = written.shape(domain)
    counts = _numbers(words, stated.counts, shape).transpose(np.argsort(written.positions, kind="stable").tolist())
    positions, kinds = written.in_domain_order
    if any(kind.at_least or not kind.is_identity for kind in kinds):
        raise WorkloadError(f"{words}: give the marginal of these attributes, from which other answers follow")
    several = tuple(position for position in positions if domain.sizes[position] > 1)
    _require_measured(plan, words, several)
    counts = counts.reshape([domain.sizes[position] for position in several])
    if (cell_counts(plan, several, counts) < -EQUAL * np.abs(counts).max(initial=1)).any():
        raise WorkloadError(f"{words} has a negative count; no table without one can agree with it")
    names = " × ".join(domain.names[position] for position in positions)
    statement = f"the table of {names}" if positions else "the number of records"
    return Fact(words, statement, several, frozen(np.array(counts)))


def _numbers(words: str, table: ArrayLike | Table, shape: tuple[int, ...]) -> FloatArray:
    """What the user states, as an array of the shape of the query's table."""
    try:
        given = np.asarray(table.estimate if isinstance(table, Table) else table)
        if given.dtype.kind in _NO_NUMBERS:
            raise TypeError
        counts = given.astype(np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(f"{words} must be an array of counts of shape {shape}, got {value_text(table)}") from None
    if counts.shape != shape or not (np.abs(counts) <= _LARGEST).all():
        raise WorkloadError(
            f"{words} must be finite counts of shape {shape}, got shape {counts.shape}, of at most {_LARGEST:,}; leave "
            "out a table that is not known"
        )
    return counts


def _impossible(plan: Plan, stated: StatedZeros) -> Fact:
    """The fact of cells that cannot occur: 1 where something can."""
    domain, cells = plan.domain, stated.cells
    if not isinstance(cells, Mapping) or not cells:
        raise WorkloadError(
            f"cells that cannot occur must be a mapping from attributes to labels, got {value_text(cells)}; write "
            '{"age": [0, 1], "marital": "married"}'
        )
    several = {
        name: given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        for name, given in cells.items()
    }
    codes = {name: [domain[name].code_of_label(label) for label in labels] for name, labels in several.items()}
    empty = [name for name, found in codes.items() if not found]
    if empty:
        raise WorkloadError(f"{stated.words or 'impossible'}: no label of {empty[0]!r} is given; write one, or several")
    shown = {name: [domain[name].value_labels[code] for code in found] for name, found in codes.items()}
    written = {name: labels if len(labels) > 1 else labels[0] for name, labels in shown.items()}
    words = stated.words or f"impossible[{reprlib.repr(written)}]"
    positions = domain.positions(tuple(codes))
    members = tuple(position for position in positions if domain.sizes[position] > 1)
    _require_measured(plan, words, members)
    possible = np.ones([domain.sizes[position] for position in positions])
    possible[np.ix_(*(codes[domain.names[position]] for position in positions))] = 0
    labels = (f"{name} is {' or '.join(map(str, found))}" for name, found in shown.items())
    statement = f"that there is no record in which {' and '.join(labels)}"
    return Fact(words, statement, members, frozen(possible.reshape([domain.sizes[position] for position in members])))


def _require_measured(plan: Plan, words: str, attributes: Sequence[int]) -> None:
    if plan.closure.position_of(attributes) < 0:
        names = tuple(plan.domain.names[position] for position in attributes)
        raise WorkloadError(f"{words}: no table of the release has the attributes {names!r} together; leave it out")


def origin_of(table: Table, facts: Facts) -> Origin:
    """What is known of the true counts of a table: unbiased estimates, and the least and the most that is possible.

    A table whose attributes are all in a known one is known; a part of a known count is at most that.
    """
    axes = [_entries(kind, table.plan.domain.sizes[at]) for at, kind in zip(table.positions, table.kinds, strict=True)]
    signs, largest = ([axis[part] for axis in axes] for part in (0, 1))
    shape = _shape(table)
    is_sum = reduce(np.multiply.outer, signs, np.ones(())) > 0
    least, most = np.where(is_sum, 0.0, -np.inf), np.full(shape, np.inf)
    for fact in facts.impossible:
        can_be = _over(table, fact, largest) > 0
        most[is_sum & ~can_be] = 0.0
    for fact in facts.known:
        bound = _over(table, fact, largest)
        if _has_all(table.plan, table.positions, fact):
            least = most = bound
            break
        most = np.where(is_sum, np.minimum(most, bound), most)
    least, most = (frozen(np.array(ends).reshape(table.estimate.shape)) for ends in (least, most))
    return Origin(table.estimate, least, most)


def _over(table: Table, fact: Fact, largest: Sequence[FloatArray]) -> FloatArray:
    """The answers to a table's query of the counts of a fact, in the table's shape.

    Along axes that the fact says nothing about, as if all were at the value that counts most.  Where attributes are
    answered together, a fact that lacks some of the table's says nothing about those: a record need not match them.
    """
    tells_all = _has_all(table.plan, table.positions, fact)
    alone = [position for position, kind in zip(table.positions, table.kinds, strict=True) if not kind.at_least]
    common = [position for position in (table.positions if tells_all else alone) if position in fact.attributes]
    ascending = sorted(common)
    counts = fact.over(common).transpose([ascending.index(position) for position in common])
    axes = [axis for axis, position in enumerate(table.positions) if position in common]
    for number, axis in enumerate(axes):
        if not table.kinds[axis].is_identity:
            counts = table.kinds[axis].apply(counts, number)
    shape = _shape(table)
    counts = counts.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])
    others = [np.ones(1) if axis in axes else most for axis, most in enumerate(largest)]
    counts = counts * reduce(np.multiply.outer, others, np.ones(())) * np.ones(shape)
    return answered_jointly(counts, table.kinds) if tells_all else counts


def _shape(table: Table) -> tuple[int, ...]:
    """How many answers each attribute of a table has: one where records are only selected."""
    return WrittenQuery(table.positions, table.kinds).shape(table.plan.domain)


def _has_all(plan: Plan, positions: Sequence[int], fact: Fact) -> bool:
    return all(position in fact.attributes or plan.domain.sizes[position] == 1 for position in positions)


def _entries(kind: Kind, size: int) -> tuple[FloatArray, FloatArray]:
    """Of each row of a kind whether no entry is negative, as 1 or 0, and its largest entry."""
    if kind.is_identity:
        return np.ones(size), np.ones(size)
    matrix = kind.matrix(size)
    return np.all(matrix >= 0, axis=1).astype(np.float64), np.max(matrix, axis=1)

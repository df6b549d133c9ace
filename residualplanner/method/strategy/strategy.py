"""What is measured, before any noise: the basis of every factor.  Source: eqs. (38) to (41)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.workload.closure import Closure
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, eq=False, repr=False)
class Strategy:
    """The basis of every factor, and what proves the cost of measuring with them.

    A *factor* is an attribute in a set of the closure.  Factors are numbered set after set in the closure's order, and
    in a set by attribute, ascending.  An attribute is *constant* if it has one basis in all sets, and *varying* if it
    may have others in other sets.  `constant_strategy` and `varying_strategy` make strategies.

    Attributes:
        closure: the sets that are measured.
        bases: the distinct bases.
        of_attribute (d,): which of them each attribute has: in all sets, or, if it varies, in the set of it alone.
        varying (d,): which attributes vary.
        of_factor (v,): which basis each factor of a varying attribute has, in the order of the factors.
        messages (values,): the numbers phi of (41), one for each value of each factor of a varying attribute in a set
            of two attributes or more, factor after factor.  Any numbers prove a bound of the cost.

    Raises:
        WorkloadError: there are more or fewer bases, factors or messages than that, or a message is not finite; the
            bases of a varying attribute are of different sizes or answer different queries, or one of them is the
            subtraction basis.

    Source: eq. (41).
    """

    closure: Closure
    bases: tuple[Basis, ...]
    of_attribute: IntArray
    varying: NDArray[np.bool_]
    of_factor: IntArray
    messages: FloatArray

    def __post_init__(self) -> None:
        for name, dtype in (("of_attribute", np.int64), ("varying", np.bool_), ("of_factor", np.int64)):
            object.__setattr__(self, name, frozen(np.array(getattr(self, name), dtype=dtype)))
        object.__setattr__(self, "messages", frozen(np.array(self.messages, dtype=np.float64)))
        factors = int(self.varies.sum()) if self.varying.any() else 0
        _require_numbers(self.bases, self.of_attribute, self.closure.attribute_count, "attributes")
        _require_numbers(self.bases, self.of_factor, factors, "factors of varying attributes")
        self._require_one_space()
        count = int(self.message_starts[-1])
        if self.messages.shape != (count,) or not np.isfinite(self.messages).all():
            raise WorkloadError(f"a strategy must have {count} messages, finite")

    def __repr__(self) -> str:
        families = Counter(basis.family for basis in self.of_attributes)
        bases = ", ".join(f"{count:,} {family}" for family, count in families.items())
        varying = f", {int(self.varying.sum()):,} of which vary" if self.varying.any() else ""
        sets = count_text(len(self.closure), "attribute set")
        return f"<Strategy for {sets}: bases {bases or 'none'}{varying}>"

    @property
    def of_attributes(self) -> tuple[Basis, ...]:
        """The basis of each attribute, (d,): in all sets, or, if it varies, in the set of it alone."""
        return tuple(self.bases[number] for number in self.of_attribute.tolist())

    @property
    def varies(self) -> NDArray[np.bool_]:
        """Whether the attribute of each factor varies, (factors,)."""
        return np.asarray(self.varying[self.closure.attribute_of_factor])

    @cached_property
    def factor_bases(self) -> IntArray:
        """Which basis each factor has, (factors,)."""
        return frozen(np.concatenate([numbers.ravel() for numbers in self.numbers()]))

    @cached_property
    def message_starts(self) -> IntArray:
        """Where the messages of each factor of a varying attribute start, and where the last ones end, (v + 1,)."""
        sizes = np.array([basis.size for basis in self.bases], dtype=np.int64)[self.of_factor]
        if len(sizes):
            sizes = sizes * (np.repeat(self.closure.orders, self.closure.orders) > 1)[self.varies]
        return frozen(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    @cached_property
    def varying_starts(self) -> IntArray:
        """How many factors of varying attributes come before each set, and how many there are, (m + 1,)."""
        if not self.varying.any():
            return frozen(np.zeros(len(self.closure) + 1, dtype=np.int64))
        counts = [np.count_nonzero(self.varying[block], axis=1) for block in self.closure.blocks]
        return frozen(np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64))

    def numbers(self) -> Iterator[IntArray]:
        """For each order the numbers of the bases of its sets, (m_k, k)."""
        start = 0
        for block in self.closure.blocks:
            numbers = self.of_attribute[block]
            if len(self.of_factor):
                varies = self.varying[block]
                stop = start + int(np.count_nonzero(varies))
                numbers[varies] = self.of_factor[start:stop]
                start = stop
            yield numbers

    def numbers_of(self, attribute: int) -> list[int]:
        """The numbers of the bases that an attribute has, ascending."""
        of_factor = self.of_factor[self.closure.attribute_of_factor[self.varies] == attribute]
        return sorted({int(self.of_attribute[attribute]), *of_factor.tolist()})

    def basis(self, members: Sequence[int], attribute: int) -> Basis:
        """The basis of an attribute in a set of the closure, its members ascending."""
        first = int(self.closure.factor_starts[self.closure.position_of(members)])
        return self.bases[int(self.factor_bases[first + list(members).index(attribute)])]

    def messages_at(self, factor: int) -> FloatArray:
        """The messages of a factor of a varying attribute, by its number among these: one for each value, or none."""
        return self.messages[self.message_starts[factor] : self.message_starts[factor + 1]]

    def part(self, closure: Closure) -> "Strategy":
        """The same for some of the sets, a closure of their own, with the messages of those."""
        factors = _spans(self.varying_starts, self.closure.positions_of_sets(closure))
        messages = self.messages[_spans(self.message_starts, factors)]
        return replace(self, closure=closure, of_factor=self.of_factor[factors], messages=messages)

    def with_denominators(self, denominators: Sequence[int]) -> "Strategy":
        """The same with bases that know the denominators of counted fractions of records, (d,).  Source: eq. (104)."""
        if all(denominator == 1 for denominator in denominators):
            return self
        pairs: dict[tuple[int, int], int] = {}
        attributes = self.closure.attribute_of_factor[self.varies] if len(self.of_factor) else self.of_factor
        numbered = [*enumerate(self.of_attribute), *zip(attributes, self.of_factor, strict=True)]
        found = [pairs.setdefault((int(number), denominators[i]), len(pairs)) for i, number in numbered]
        of_attribute, of_factor = np.split(np.array(found, dtype=np.int64), [len(self.of_attribute)])
        bases = tuple(replace(self.bases[number], denominator=denominator) for number, denominator in pairs)
        return replace(self, bases=bases, of_attribute=of_attribute, of_factor=of_factor)

    def scaled(self, factor: float) -> "Strategy":
        """The same for precisions that are ``factor`` times as large: messages are in units of the cost."""
        return replace(self, messages=self.messages * factor) if len(self.messages) else self

    def _require_one_space(self) -> None:
        for attribute in np.flatnonzero(self.varying).tolist():
            mine = [self.bases[number] for number in self.numbers_of(attribute)]
            if len({(basis.size, basis.answers) for basis in mine}) > 1:
                raise WorkloadError("the bases of an attribute must have one size and equally many answers in all sets")
            if not all(basis.multipliers for basis in mine):
                raise WorkloadError("an attribute with the subtraction basis or a nested one has it in all sets")
            if not all(mine[0].spans_rows(rows) for basis in mine for rows in basis.multipliers):
                raise WorkloadError("the bases of an attribute must answer the same queries in all sets")


def _require_numbers(bases: Sequence[Basis], numbers: IntArray, count: int, what: str) -> None:
    if numbers.shape != (count,) or not ((numbers >= 0) & (numbers < len(bases))).all():
        raise WorkloadError(f"a strategy must name one of its {len(bases)} bases for each of {count} {what}")


def _spans(starts: IntArray, chosen: IntArray) -> IntArray:
    """The numbers from ``starts[i]`` up to ``starts[i + 1]`` for each chosen i, one after another."""
    lengths = starts[chosen + 1] - starts[chosen]
    return np.asarray(np.repeat(starts[chosen] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum()))


def constant_strategy(closure: Closure, bases: Sequence[Basis]) -> Strategy:
    """The strategy in which every attribute has one basis, of ``bases`` (d,), in all sets of a closure.

    WorkloadError where there are more or fewer bases than attributes.
    """
    if len(bases) != closure.attribute_count:
        raise WorkloadError(f"one basis for each attribute: got {len(bases)} for {closure.attribute_count} attributes")
    found: dict[tuple[str, int], int] = {}
    keys = zip((basis.family for basis in bases), basis_codes(bases).tolist(), strict=True)
    of_attribute = np.array([found.setdefault(key, len(found)) for key in keys], dtype=np.int64)
    distinct = tuple(bases[first] for first in np.unique(of_attribute, return_index=True)[1].tolist())
    varying, none = np.zeros(len(bases), dtype=np.bool_), np.empty(0, dtype=np.int64)
    return Strategy(closure, distinct, of_attribute, varying, none, np.empty(0))


def subtraction_strategy(workload: Workload) -> Strategy:
    """The strategy for plain marginals: the subtraction basis for every attribute."""
    return constant_strategy(workload.closure, [subtraction_basis(size) for size in workload.domain.sizes])


def varying_strategy(
    closure: Closure,
    sizes: Sequence[int],
    bases: Sequence[Basis],
    of_factor: Sequence[int] | IntArray,
    messages: FloatArray,
) -> Strategy:
    """The strategy with the given basis of every factor; all attributes but those with the subtraction basis vary.

    Of attributes there are ``sizes`` (d,): those in no set get the subtraction basis.  ``of_factor`` (factors,) says
    which of the distinct ``bases`` each factor has; messages (values,), and errors, are those of `Strategy`.
    """
    numbers = np.array(of_factor, dtype=np.int64)
    _require_numbers(bases, numbers, len(closure.attribute_of_factor), "factors")
    attributes, can_vary = closure.attribute_of_factor, np.array([not basis.is_symmetric for basis in bases])
    varying = np.zeros(closure.attribute_count, dtype=np.bool_)
    varying[attributes[can_vary[numbers]]] = True
    unused = np.setdiff1d(np.arange(closure.attribute_count), attributes).tolist()
    of_attribute = np.empty(closure.attribute_count, dtype=np.int64)
    of_attribute[unused] = len(bases) + np.arange(len(unused))
    singles = attributes[np.repeat(closure.orders, closure.orders) == 1]
    of_attribute[singles] = numbers[: len(singles)]  # the factors of sets of one attribute come first
    known = (*bases, *(subtraction_basis(sizes[attribute]) for attribute in unused))
    return Strategy(closure, known, of_attribute, varying, numbers[varying[attributes]], messages)

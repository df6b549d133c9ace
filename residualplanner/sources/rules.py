"""The domain's rules for unknown and missing values, applied to records.

Reads: raw codes with UNKNOWN and MISSING among them.  Gives: a block of valid codes, or the columns that break a rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.domain import ABOVE, BETWEEN_UNITS, MISSING, NEGATIVE, UNKNOWN, Attribute, Domain, Into
from residualplanner.errors import DataError
from residualplanner.sources.covering import Codes
from residualplanner.sources.multiplicities import Multiplicities, Once

#: A column by its position, and which of its rules is broken.
Breach = tuple[int, str]

#: The problems of weights by their codes.
_WEIGHTS = {
    UNKNOWN: "no weight",
    MISSING: "missing weight",
    NEGATIVE: "negative weight",
    ABOVE: "weight above the maximum",
    BETWEEN_UNITS: "weight between units",
}
#: The words of all rules.
RULES = ("unknown", "missing", *_WEIGHTS.values())
_PROBLEM = {
    "unknown": 'has values outside its schema; add them to the attribute, or declare unknown="Other" or "drop"',
    "missing": 'has missing values; fill them, or declare missing="Not stated" or "drop"',
    "no weight": "has weights that are not finite numbers",
    "missing weight": "has missing weights; fill them, or leave these records out",
    "negative weight": "has negative weights; no record may count less than nothing",
    "weight above the maximum": 'has weights above the declared maximum; declare a larger one, or above="clip"',
    "weight between units": "has weights that are not multiples of the declared unit; round them, or declare a smaller "
    "unit",
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some records, coded.

    A record may have several columns here, in each of which it counts as often as the multiplicity says.

    Attributes:
        codes (d, records): valid codes; meaningless where there are breaches.
        breaches: the columns whose values break a rule that says "error".
        multiplicities: how often each record counts.
    """

    codes: Codes
    breaches: frozenset[Breach]
    multiplicities: Multiplicities


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """The cells of an attribute that the records of a block count in.

    Attributes:
        codes (records,): codes, UNKNOWN or MISSING.
        multiplicities: how often each record counts there.
    """

    codes: IntArray
    multiplicities: Multiplicities

    @classmethod
    def once(cls, codes: IntArray) -> "CodedColumn":
        """Each record counts once."""
        return cls(codes, Once(len(codes)))


#: The cells that a record counts in, along one attribute: one of each.
CodedColumns = Sequence[CodedColumn]


def block_of_columns(domain: Domain, columns: Iterable[CodedColumns], multiplicities: Multiplicities) -> Block:
    """Apply every attribute's rules to raw codes.

    Args:
        domain: the schema.
        columns: for each of the domain's columns in order, what its records count in.  A record counts in each
            combination of cells, as often as the product of their multiplicities says, and by its weight.
        multiplicities: how often each record counts, besides.

    Returns:
        The records that stay, in the narrowest type that holds every attribute's codes.
    """
    kind, given = code_type(domain), iter(columns)
    settled = [
        [_settle(position, attribute, column, kind) for column in next(given)]
        for position, attribute in enumerate(domain.attributes)
    ]
    weights = [column.codes for of_weight in given for column in of_weight]
    return joined([_block(chosen, multiplicities, weights, kind) for chosen in product(*settled)])


def joined(blocks: Sequence[Block]) -> Block:
    """The records of all blocks, at least one, as one block."""
    if len(blocks) == 1:
        return blocks[0]
    breaches = frozenset[Breach]().union(*(block.breaches for block in blocks))
    first, *others = [block.multiplicities for block in blocks]
    return Block(np.concatenate([block.codes for block in blocks], axis=1), breaches, first.followed_by(others))


def code_type(domain: Domain) -> np.dtype[Any]:
    """The narrowest integer type that holds the codes of every attribute, and of which int64 is a superset."""
    largest = max(domain.sizes, default=1) - 1
    return np.min_scalar_type(largest) if largest < 2**32 else np.dtype(np.int64)


def data_error_of_breaches(domain: Domain, breaches: Iterable[Breach]) -> DataError:
    """The error that names every column that breaks a rule, and nothing about its values."""
    ordered = sorted(breaches)
    names = [domain.columns[position].name for position, _ in ordered]
    lines = [f"column {name!r} {_PROBLEM[word]}" for name, (_, word) in zip(names, ordered, strict=True)]
    return DataError("; ".join(lines), column=names[0])


class _Settled(NamedTuple):
    """A column to which the rules have been applied: codes, which records leave, and which rules are broken."""

    codes: Codes
    leaves: NDArray[np.bool_]
    breaches: Sequence[Breach]
    multiplicities: Multiplicities


def _block(
    columns: Sequence[_Settled], multiplicities: Multiplicities, weights: Sequence[IntArray], kind: np.dtype[Any]
) -> Block:
    """The records that stay, each in one combination of cells."""
    codes = np.empty((len(columns), len(multiplicities)), dtype=kind)
    leaves = np.zeros(len(multiplicities), dtype=bool)
    for position, column in enumerate(columns):
        codes[position] = column.codes
        leaves |= column.leaves
        multiplicities = multiplicities.times(column.multiplicities)
    breaches = set(chain.from_iterable(column.breaches for column in columns))
    for position, codes_of_weights in enumerate(weights, start=len(columns)):
        weighed = np.where(leaves, 0, codes_of_weights)  # what is left out may have any weight
        breaches.update((position, _WEIGHTS[code]) for code in np.unique(weighed[weighed < 0]).tolist())
        multiplicities = multiplicities.times_entries(np.maximum(weighed, 0))
    if not leaves.any():
        return Block(codes, frozenset(breaches), multiplicities)
    return Block(codes[:, ~leaves], frozenset(breaches), multiplicities.of(~leaves))


def _settle(position: int, attribute: Attribute, column: CodedColumn, kind: np.dtype[Any]) -> _Settled:
    """The column's codes in a narrow type, the records that leave, and the rules broken."""
    raw = column.codes
    leaves = raw < 0
    broken: list[Breach] = []
    settled = raw
    if leaves.any():
        settled = np.where(leaves, 0, raw)
        for code, word, rule in ((UNKNOWN, "unknown", attribute.unknown), (MISSING, "missing", attribute.missing)):
            concerned = raw == code
            if isinstance(rule, Into):
                settled[concerned] = attribute.code_of_label(rule.label)
                leaves &= ~concerned
            elif rule == "error" and concerned.any():
                broken.append((position, word))
    return _Settled(settled.astype(kind), leaves, broken, column.multiplicities)

"""The domain's rules for unknown and missing values, applied to records.

Reads: raw codes with UNKNOWN and MISSING among them.  Gives: a block of valid codes, or the columns that break a rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.domain import MISSING, UNKNOWN, Attribute, Domain, Into
from residualplanner.errors import DataError
from residualplanner.sources.covering import Codes

#: A column by its position, and which of its rules is broken.
Breach = tuple[int, str]

_PROBLEM = {
    "unknown": 'has values outside its schema; add them to the attribute, or declare unknown="Other" or "drop"',
    "missing": 'has missing values; fill them, or declare missing="Not stated" or "drop"',
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some records, coded.

    Attributes:
        codes (d, records): valid codes; meaningless where there are breaches.
        breaches: the columns whose values break a rule that says "error".
    """

    codes: Codes
    breaches: frozenset[Breach]


def block_of_raw_codes(domain: Domain, columns: Iterable[IntArray], records: int) -> Block:
    """Apply every attribute's rules to raw codes.

    Args:
        domain: the schema.
        columns: for each attribute in order, (records,): codes, UNKNOWN or MISSING.
        records: how many there are.

    Returns:
        The records that stay, in the narrowest type that holds every attribute's codes.
    """
    codes = np.empty((len(domain), records), dtype=code_type(domain))
    dropped = np.zeros(records, dtype=bool)
    breaches: set[Breach] = set()
    for position, (attribute, raw) in enumerate(zip(domain.attributes, columns, strict=True)):
        settled, leaves, broken = _settle(attribute, raw)
        codes[position] = settled
        dropped |= leaves
        breaches.update((position, word) for word in broken)
    return Block(codes[:, ~dropped] if dropped.any() else codes, frozenset(breaches))


def code_type(domain: Domain) -> np.dtype[Any]:
    """The narrowest integer type that holds the codes of every attribute, and of which int64 is a superset."""
    largest = max(domain.sizes, default=1) - 1
    return np.min_scalar_type(largest) if largest < 2**32 else np.dtype(np.int64)


def data_error_of_breaches(domain: Domain, breaches: Iterable[Breach]) -> DataError:
    """The error that names every column that breaks a rule, and nothing about its values."""
    ordered = sorted(breaches)
    names = [domain.names[position] for position, _ in ordered]
    lines = [f"column {name!r} {_PROBLEM[word]}" for name, (_, word) in zip(names, ordered, strict=True)]
    return DataError("; ".join(lines), column=names[0])


def _settle(attribute: Attribute, raw: IntArray) -> tuple[IntArray, NDArray[np.bool_], Sequence[str]]:
    """The column's codes, the records that leave, and the rules broken."""
    leaves = raw < 0
    broken: list[str] = []
    if not leaves.any():
        return raw, leaves, broken
    settled = np.where(leaves, 0, raw)
    for code, word, rule in ((UNKNOWN, "unknown", attribute.unknown), (MISSING, "missing", attribute.missing)):
        concerned = raw == code
        if isinstance(rule, Into):
            settled[concerned] = attribute.code_of_label(rule.label)
            leaves &= ~concerned
        elif rule == "error" and concerned.any():
            broken.append(word)
    return settled, leaves, broken

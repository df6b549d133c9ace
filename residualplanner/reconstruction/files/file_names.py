"""What the file of a table is called: readable, different for every query, and allowed on every system.

Reads: names of attributes, kinds of query.  Gives: names of files.
"""

import hashlib
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from residualplanner.queries import Identity, Kind
from residualplanner.workload import Workload

#: For an attribute's position and a kind asked of it what the two contribute to file names.
NameParts = dict[tuple[int, Kind], str]

#: How the file of the number of records, a table of no attributes, is called.
TOTAL = "_total"

_LONGEST = 150
_PLAIN = frozenset(string.ascii_letters + string.digits + "_-")
_LOWER = _PLAIN - frozenset(string.ascii_uppercase)


def encoded_names(names: Sequence[str]) -> tuple[str, ...]:
    """Attribute names as parts of file names, (d,): letters, digits, ``_`` and ``-`` stay, all else is percent-encoded.

    Capital letters are encoded too where two names differ in nothing but their case, which some file systems ignore.

    Example:
        >>> encoded_names(["age", "pay/hour", "Größe"])
        ('age', 'pay%2Fhour', 'Gr%C3%B6%C3%9Fe')
        >>> encoded_names(["sex", "SEX"])
        ('sex', '%53%45%58')
    """
    differ = len({name.lower() for name in names}) == len(names)
    return tuple(_encoded(name, _PLAIN if differ else _LOWER) for name in names)


def parts_of_kinds(name: str, kinds: Sequence[Kind]) -> list[str]:
    """What an attribute, by its encoded ``name``, contributes to file names for each of the ``kinds`` asked of it.

    That is the name alone for the identity, else the kind's name behind an ``@``, which no encoded name contains; with
    a number where the attribute is asked in several kinds of one name.

    Example:
        >>> from residualplanner.queries import Custom, Prefix
        >>> parts_of_kinds("age", [Identity(), Prefix(), Custom([[1, 1], [1, 0]]), Custom([[1, 1], [2, 0]])])
        ['age', 'age@prefix', 'age@custom1', 'age@custom2']
    """
    alike, seen, parts = Counter(kind.name for kind in kinds), Counter[str](), []
    for kind in kinds:
        seen[kind.name] += 1
        number = str(seen[kind.name]) if alike[kind.name] > 1 else ""
        parts.append(name if kind == Identity() else f"{name}@{_encoded(kind.name, _LOWER)}{number}")
    return parts


def file_stem(parts: Sequence[str]) -> str:
    """The name of a table's file without its ending, from what its attributes contribute.

    Example:
        >>> file_stem(["age", "sex"]), file_stem([])
        ('age.sex', '_total')
    """
    stem = table_name(parts)
    if len(stem) <= _LONGEST:
        return stem
    return f"{stem[: _LONGEST - 33]}~{hashlib.sha256(stem.encode()).hexdigest()[:32]}"


def parts_of_workload(workload: Workload) -> NameParts:
    """What each attribute contributes to file names for each kind that the workload asks of it.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.queries import Prefix
        >>> workload = Workload(Domain({"age": 3, "sex": 2}), [("sex",), {"age": Prefix()}])
        >>> list(parts_of_workload(workload).values())
        ['age@prefix', 'sex']
    """
    names = encoded_names(workload.domain.names)
    asked: dict[int, list[Kind]] = {}
    for position, code in np.argwhere(workload.asked).tolist():
        asked.setdefault(position, []).append(workload.kinds[code])
    return {
        (position, kind): part
        for position, kinds in asked.items()
        for kind, part in zip(kinds, parts_of_kinds(names[position], kinds), strict=True)
    }


def table_name(parts: Sequence[str]) -> str:
    """The name of a table, however long, from what its attributes contribute: no two queries have the same."""
    return ".".join(parts) or TOTAL


def _encoded(name: str, kept: frozenset[str]) -> str:
    letters = [letter if letter in kept else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name]
    if letters[0] == "_":
        letters[0] = "%5F"
    return "".join(letters)

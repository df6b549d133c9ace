"""What the file of a table is called: readable, different for every query, and allowed on every system.

Reads: names of attributes.  Gives: names of files.
"""

import hashlib
import string
from collections.abc import Sequence

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


def file_stem(parts: Sequence[str]) -> str:
    """The name of a table's file without its ending, from the `encoded_names` of its attributes.

    Example:
        >>> file_stem(["age", "sex"]), file_stem([])
        ('age.sex', '_total')
    """
    stem = ".".join(parts) or TOTAL
    if len(stem) <= _LONGEST:
        return stem
    return f"{stem[: _LONGEST - 33]}~{hashlib.sha256(stem.encode()).hexdigest()[:32]}"


def _encoded(name: str, kept: frozenset[str]) -> str:
    letters = [letter if letter in kept else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name]
    if letters[0] == "_":
        letters[0] = "%5F"
    return "".join(letters)

"""The codes of a level: text, as "01" is not 1, with the zeros in front that spreadsheets leave out."""

import re

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.more.classifications.text_table import TextColumn, TextTable

#: What becomes of codes of digits in a column of numbers, some of which are missing.
_DECIMALS = re.compile(r"[0-9]+\.0+")

#: How many characters the codes of a level have, by the level's name; None where they differ.
CodeLengths = dict[str, int | None]


def checked_lengths(lengths: object, levels: tuple[str, ...]) -> CodeLengths:
    """The declared lengths of codes, by level.

    Raises:
        WorkloadError: it is not a mapping from names of levels to positive integers or None.
    """
    if lengths is None:
        return {}
    if not isinstance(lengths, dict):
        raise WorkloadError(f"code_lengths must be a mapping such as {{'county': 5}}, got {value_text(lengths)}")
    for level, length in lengths.items():
        if level not in levels:
            raise WorkloadError(f"code_lengths names the level {level!r}; the levels are {list(levels)}")
        if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
            raise WorkloadError(
                f"code_lengths[{level!r}] must be a positive integer, or None, got {value_text(length)}"
            )
    return lengths


def level_codes(table: TextTable, column: str, level: str, rows: list[int], lengths: CodeLengths) -> list[str]:
    """The codes of a level in some rows of a column, with lost zeros put back where a length is declared.

    Args:
        table: the public table.
        column: the name of the column.
        level: the name of the level.
        rows (m,): which rows.
        lengths: those that are declared.

    Returns:
        The codes, (m,).

    Raises:
        WorkloadError: a code is empty, a number with decimals or a formula, or of another length than declared; or
            nothing is declared, and zeros may be lost: the codes are integers, or some of digits alone are shorter than
            others.
    """
    found = table.column(column)
    for row in rows:
        _require_code(table.where(row, column), found.texts[row], level)
    if level not in lengths:
        _require_zeros(table, column, found, level, rows)
    length = lengths.get(level)
    if length is None:
        return [found.texts[row] for row in rows]
    return [_of_length(table.where(row, column), found.texts[row], level, length) for row in rows]


def _require_code(where: str, text: str, level: str) -> None:
    """Raise WorkloadError where a text is not a code but what a program has made of one."""
    if not text:
        raise WorkloadError(f"{where}: a code of the level {level!r} is empty")
    if _DECIMALS.fullmatch(text):
        raise WorkloadError(
            f"{where}: the code {text!r} of {level!r} is a number with decimals, as programs write columns of numbers "
            "with gaps; read the codes as text where the file is made"
        )
    if text.startswith("="):
        raise WorkloadError(
            f"{where}: the code {text!r} of {level!r} is a formula of a spreadsheet; save its value as text"
        )


def _of_length(where: str, code: str, level: str, length: int) -> str:
    """A code with the zeros put back that it lost."""
    padded = code.zfill(length) if code.isdecimal() else code
    if len(padded) != length:
        raise WorkloadError(f"{where}: the code {code!r} is not of {length} characters, as declared for {level!r}")
    return padded


def _require_zeros(table: TextTable, column: str, found: TextColumn, level: str, rows: list[int]) -> None:
    """Raise WorkloadError where leading zeros may have been lost."""
    if found.is_number:
        raise WorkloadError(
            f"{table.name}, column {column!r}: the codes of {level!r} are integers, which have no leading zeros, and "
            f"'01' is not 1; read them as text, or declare how many characters they have, as code_lengths="
            f"{{{level!r}: N}}, for the zeros to be put back, or None in place of N if there never were any"
        )
    longest = max(
        (row for row in rows if _has_digit(found.texts[row])), key=lambda row: len(found.texts[row]), default=None
    )
    if longest is None:
        return
    length = len(found.texts[longest])
    for row in rows:
        code = found.texts[row]
        if code.isdecimal() and len(code) < length:
            raise WorkloadError(
                f"{table.where(row, column)}: the code {code!r} of {level!r} is shorter than "
                f"{found.texts[longest]!r} in {table.row_text(longest)}; it may have lost leading zeros, and '01' is "
                f"not 1; {_declared(level, length)} for them to be put back, or {_declared(level, None)} if none "
                "are lost"
            )


def _declared(level: str, length: int | None) -> str:
    """What to write for the length of the codes of a level."""
    return f"declare code_lengths={{{level!r}: {length}}}"


def _has_digit(code: str) -> bool:
    return any(letter.isdecimal() for letter in code)

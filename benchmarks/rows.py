"""The results of a benchmark as rows: each is printed as soon as it is known, and all of them are saved in the end."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Row = TypeVar("Row")


def printed(rows: Iterable[Row], line: Callable[[Row], str]) -> list[Row]:
    """All rows, after the line of each has been printed.

    Example:
        >>> printed(iter([1, 2]), lambda number: f"{number} of 2")
        1 of 2
        2 of 2
        [1, 2]
    """
    found = []
    for row in rows:
        found.append(row)
        print(line(row), flush=True)
    return found


def save_rows(path: Path | None, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSON to a file; nothing where there is none."""
    if path is not None:
        path.write_text(json.dumps(list(rows), indent=1) + "\n", encoding="utf-8")

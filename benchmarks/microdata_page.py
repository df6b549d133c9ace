"""The tables of the manual's page on microdata, from the figures of the benchmark.

    python -m benchmarks.microdata_page [JSON]

prints them as they stand in docs/microdata.md.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.microdata_published import METHODS

RESULTS = Path(__file__).parent / "results" / "microdata.json"


def table_of(found: dict[str, Any], title: str, cell: Callable[[dict[str, Any]], str]) -> Iterator[str]:
    """The rows of a table with a row for each data set and a column for each fit."""
    yield f"| {title} | " + " | ".join(METHODS) + " |"
    yield "|---" * (1 + len(METHODS)) + "|"
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in found["tables"]:
        by_name.setdefault(row["data"], []).append(row)
    for number, (name, rows) in enumerate(by_name.items(), start=1):
        yield f"| D{number:02} {name} | " + " | ".join(map(cell, rows)) + " |"


def totals(found: dict[str, Any]) -> list[str]:
    """Table 1: squared errors of the total, and the published ones."""
    return list(table_of(found, "total", lambda row: f"{row['total']:.0f} ({row['published total']:.0f})"))


def cells(found: dict[str, Any]) -> list[str]:
    """Table 2: squared errors of all cells together and of the worst, and the published ones."""

    def cell(row: dict[str, Any]) -> str:
        pairs = (f"{row[name]:.0f} ({row[f'published {name}']:.0f})" for name in ("cells", "worst"))
        return " / ".join(pairs)

    return list(table_of(found, "cells together / worst", cell))


def findings(found: dict[str, Any]) -> list[str]:
    """The published findings, what was found, and their verdicts."""
    rows = [
        f"| {row['finding']} | {row['published']} | {row['ours']} | {row['verdict']} |" for row in found["findings"]
    ]
    return ["| | the paper says | ours | verdict |", "|---|---|---|---|", *rows]


def page_tables(found: dict[str, Any]) -> list[str]:
    """All tables, each as a block of lines."""
    return ["\n".join(make(found)) for make in (totals, cells, findings)]


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    print("\n\n".join(page_tables(json.loads(path.read_text(encoding="utf-8")))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What the project wants of releases in parts, found from the rows of `benchmarks.parts`."""

from collections.abc import Mapping
from typing import Any

from benchmarks.criteria import Criterion

GIB = 2**30
#: The row of `Release.save` in a format that has a file for each table.
PER_TABLE = "save a file a table"
Rows = Mapping[str, Mapping[str, Any]]


def criteria_of_parts(rows: Rows, attributes: int, order: int, fraction: float) -> list[Criterion]:
    """What is wanted of all tables of up to ``order`` attributes, a ``fraction`` of whose parts was written."""
    found = _of_kills(rows["kills"]) if "kills" in rows else []
    if "save" not in rows:
        return found
    if order == 4:
        return found + _of_four(rows, fraction)
    if order == 3 and fraction == 1:
        found += {100: _of_100, 200: _of_200}.get(attributes, lambda _: [])(rows)
    return found


def _of_kills(kills: Mapping[str, Any]) -> list[Criterion]:
    again = kills["parts_written_again"]
    return [Criterion("4", "finished parts written again", again, "<=", 0, ("kills",))]


def _of_four(rows: Rows, fraction: float) -> list[Criterion]:
    select, save = rows["measure"]["select_memory"] / GIB, rows["save"]["memory"] / GIB
    return [
        Criterion("10", "planning, GiB", select, "<=", 1, ("measure",)),
        Criterion("10", f"writing {fraction:.0%} of the parts, GiB", save, "<=", 1, ("save",)),
    ]


def _of_100(rows: Rows) -> list[Criterion]:
    save, own = rows["save"], ("save",)
    found = [
        Criterion("1", "CPU seconds", save["cpu"], "<=", 12, own),
        Criterion("1", "bytes a cell", save["bytes_per_cell"], "<=", 8.5, own),
        Criterion("1", "files", save["files"], "<=", 200, own),
        Criterion("1", "GiB of memory", save["memory"] / GIB, "<=", 0.3, own),
    ]
    if PER_TABLE in rows:
        times = rows[PER_TABLE]["cpu"] / save["cpu"]
        what = "times the CPU seconds that a file for each table takes in the same run"
        found.append(Criterion("1", what, times, ">=", 12, (*own, PER_TABLE)))
    return found


def _of_200(rows: Rows) -> list[Criterion]:
    save, two, read, sql = rows["save"], rows["save by two"], rows["read"], rows["sql"]
    ratio, slow = two["clock"] / save["clock"], 1000 * read["90th percentile"]
    found = [
        Criterion("2", "CPU seconds", save["cpu"], "<=", 150, ("save",)),
        Criterion("2", "GB on disk", save["bytes"] / 1e9, "<=", 11.5, ("save",)),
        Criterion("2", "GiB of memory of one of two processes", two["memory"] / GIB, "<=", 0.5, ("save by two",)),
        Criterion("2", "two processes, of the time of one", ratio, "<=", 0.6, ("save", "save by two")),
        Criterion("3", "opening, seconds", read["open"], "<=", 1, ("read",)),
        Criterion("3", "a table, 90th percentile, milliseconds", slow, "<=", 30, ("read",)),
        Criterion("5", "measuring, GiB", rows["measure"]["memory"] / GIB, "<=", 4, ("measure",)),
    ]
    if sql:
        found.append(Criterion("3", "a table by SQL, seconds", sql["clock"], "<=", 0.5, ("sql",)))
    return found

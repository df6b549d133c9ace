"""What the project wants of very many tables, beside what was found: from the files of benchmarks/results.

    python -m benchmarks.scale

Nothing is measured here: each row is of the last run of the command in its heading that wrote its results.  The rows
are those of the table on the page docs/many-tables.md, which a test compares.  Exits with 1 if a limit is missed.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.criteria import SIGNS, Criterion
from benchmarks.parts_criteria import PER_TABLE

RESULTS = Path(__file__).parent / "results"
#: Results that hold criteria themselves, by size.
PARTS = "attributes of 10 values, up to 3"
LOCAL, CLUSTER, DASK = "Spark, local", "Spark, local-cluster", "Dask, distributed"


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _stated(name: str, size: str, *, is_beside_files: bool = False) -> Iterator[Criterion]:
    """Those that a file of `benchmarks.parts` states, of one size: that of two rows, or all others."""
    for row in _results(name)[size]["criteria"]:
        found = Criterion(**{key: value for key, value in row.items() if key != "is_met"})
        if (PER_TABLE in found.rows) is is_beside_files:
            yield found


def of_100() -> Iterator[Criterion]:
    return _stated("parts", f"100 {PARTS}")


def of_100_beside_files() -> Iterator[Criterion]:
    return _stated("parts_per_table", f"100 {PARTS}", is_beside_files=True)


def of_200() -> Iterator[Criterion]:
    return _stated("parts", f"200 {PARTS}")


def of_kills() -> Iterator[Criterion]:
    kills = _results("parts")[f"50 {PARTS}"]["rows"]["kills"]
    yield Criterion("4", "kills while writing", kills["kills"], ">=", 100)
    yield Criterion("4", "finished parts written again", kills["parts_written_again"], "<=", 0)
    yield Criterion(
        "4", "runs with other files than one that was not killed", int(not kills["files_are_the_same"]), "<=", 0
    )


def of_four_million() -> Iterator[Criterion]:
    return _stated("parts", "100 attributes of 3 values, up to 4")


def of_memory() -> Iterator[Criterion]:
    rows = _results("measuring_memory")
    off = max(abs(row[name] / row["measured"] - 1) for row in rows for name in ("estimate", "checked"))
    different = sum(row.get("counts_are_equal") is False for row in rows)
    yield Criterion("5", "the estimate of memory is off by, %", 100 * off, "<=", 15)
    yield Criterion("5", "runs of up to 50 attributes with another count", different, "<=", 0)


def of_counting() -> Iterator[Criterion]:
    row = _results("counting")
    yield Criterion("6", "times the CPU seconds of counting each table by itself", row["ratio"], ">=", 4)
    yield Criterion("6", "runs with another count", int(not row["is_equal"]), "<=", 0)


def of_engines() -> Iterator[Criterion]:
    cpu = {(row["engine"], row["tables"]): row["cpu"] for row in _results("engines_scale")}
    for engine in (LOCAL, DASK):
        ratio = cpu[engine, 4495] / 4495 / (cpu[engine, 4060] / 4060)
        yield Criterion("7", f"{engine}: a table of 4,495 in CPU seconds of one of 4,060", ratio, "<=", 1.3)
    for engine in (LOCAL, DASK):
        more = cpu[engine, 19600] - 2 * cpu["NumPy codes", 19600]
        what = f"{engine}: 19,600 tables, CPU seconds more than twice NumPy's"
        yield Criterion("7", what, more, "<=", 60)


def of_engine_releases() -> Iterator[Criterion]:
    rows = {row["engine"]: row for row in _results("engines_release")}
    for engine in (LOCAL, CLUSTER):
        more = rows[engine]["start"] + rows[engine]["work"] - 2 * rows["one process"]["work"]
        what = f"{engine}: CPU seconds, the start with them, more than twice those of one process"
        yield Criterion("8", what, more, "<=", 25)
    yield Criterion("8", "driver's Java, with workers of their own, GiB", rows[CLUSTER]["java_mib"] / 1024, "<=", 0.5)
    yield Criterion("8", "driver's Python, GiB", rows[CLUSTER]["driver_mib"] / 1024, "<=", 0.5)


def of_protocol() -> Iterator[Criterion]:
    found = _results("protocol")
    yield Criterion("9", "deaths of drivers and workers", found["deaths"], ">=", 1000)
    yield Criterion("9", "sets with two answers, and what else must not be", len(found["wrongs"]), "<=", 0)


def of_many_queries() -> Iterator[Criterion]:
    for row in _results("many_queries")["criteria"]:
        yield Criterion(**{key: value for key, value in row.items() if key != "is_met"})


#: What is measured, by which command, and the rows.
SECTIONS: tuple[tuple[str, str, Callable[[], Iterator[Criterion]]], ...] = (
    ("100 attributes, up to 3 of 10 values", "parts", of_100),
    ("the same", "parts --per-table", of_100_beside_files),
    ("200 attributes, up to 3 of 10 values", "parts --attributes 200", of_200),
    ("50 attributes, up to 3 of 10 values", "parts --attributes 50 --kills 100", of_kills),
    ("100 attributes, up to 4 of 3 values", "parts --order 4 --size 3 --only 0.01", of_four_million),
    ("memory of measuring", "measuring_memory", of_memory),
    ("1M records, 19,600 tables", "counting", of_counting),
    ("1M records at an engine's workers", "engines_scale", of_engines),
    ("a release of 100 attributes by Spark", "engines_release", of_engine_releases),
    ("measuring into a store", "protocol", of_protocol),
    ("1.33 million queries", "many_queries", of_many_queries),
)


def rows() -> Iterator[str]:
    """The table in Markdown."""
    yield "| of | `python -m benchmarks.` | what | found | wanted |"
    yield "|---|---|---|---:|---|"
    for title, command, criteria in SECTIONS:
        for number, one in enumerate(criteria()):
            first = f"{title} | `{command}`" if number == 0 else " | "
            missed = "" if one.is_met else ", **missed**"
            yield f"| {first} | {one.what} | {_number(one.found)} | {SIGNS[one.sign]} {_number(one.limit)}{missed} |"


def _number(number: float) -> str:
    """Three digits, all of those before the point."""
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 100 else f"{number:.3g}"


def main() -> int:
    print(*rows(), sep="\n")
    return int(not all(one.is_met for _, _, criteria in SECTIONS for one in criteria()))


if __name__ == "__main__":
    sys.exit(main())

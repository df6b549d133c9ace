"""The targets of RAP (A-1 to A-6) and of microdata (B-1 to B-5), beside what was measured.

    python -m benchmarks.rap_targets [--rap FILE] [--microdata FILE]

Reads what `benchmarks.rap` and `benchmarks.microdata` wrote, and prints the tables of docs/adaptive-projection.md and
docs/microdata.md.  Exits with 1 if a target is missed.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.criteria import SIGNS, Criterion

RESULTS = Path(__file__).parent / "results"
GIB = 1024


def criteria_of_rap(lines: Sequence[dict[str, Any]]) -> Iterator[Criterion]:
    """A-1 to A-6; ``rows`` names the case that was run."""
    by_case = {line["case"]: line for line in lines}

    def at_most(number: str, what: str, found: float, limit: float, case: str) -> Criterion:
        return Criterion(number, what, found, "<=", limit, (case,))

    tables, all_r = by_case["tables"], by_case["thresholds"]
    extra = (tables["peak_mib"] - tables["before_mib"]) / GIB
    yield at_most("A-1", "364 tables of relaxed records, CPU seconds", tables["cpu_seconds"], 4, "tables")
    yield at_most("A-1", "memory besides, GiB", extra, 0.3, "tables")
    times = all_r["cpu_seconds"] / tables["cpu_seconds"]
    yield at_most("A-1b", "the same for r = 1, 2 and 3, times A-1", times, 2, "thresholds")
    runs = (
        ("A-2", "RAP, 64 tables, 16 rounds of 4 cells", 60, 2, "adaptive"),
        ("A-3", "RAP, stand-in records, 35 million queries", 1240, 6, "loans"),
        ("A-4", "non-adaptive RAP, 64 tables", 600, 2, "whole"),
    )
    for number, what, seconds, memory, case in runs:
        yield at_most(number, f"{what}, CPU seconds", by_case[case]["cpu_seconds"], seconds, case)
        yield at_most(number, "its memory, GiB", by_case[case]["peak_mib"] / GIB, memory, case)
        if number == "A-2":
            step = by_case["step"]["milliseconds"]
            yield at_most("A-2b", "one step of the optimizer, milliseconds", step, 12, "step")
    made = by_case["synthesized"]
    (raw, raw_rmse), (fitted, fitted_rmse) = made["raw"], made["fitted"]
    yield at_most("A-5", "a plan, its release and a model of it, CPU seconds", made["cpu_seconds"], 60, "synthesized")
    yield at_most("A-5", "largest error, times that of the release", fitted / raw, 1, "synthesized")
    yield at_most(
        "A-5", "root mean square error, times that of the release", fitted_rmse / raw_rmse, 0.1, "synthesized"
    )
    yield at_most("A-6", "errors of 256 tables, CPU seconds", by_case["error"]["cpu_seconds"], 10, "error")


def criteria_of_microdata(found: dict[str, Any]) -> Iterator[Criterion]:
    """B-1 to B-5; ``rows`` names the option of `benchmarks.microdata` that leaves the rest out."""
    seconds, large = found["cpu s of the tables"], found["large"]
    without = sum(spent for method, spent in seconds.items() if method != "MaxFit")
    tables, everything = ("--tables-only",), ("",)
    yield Criterion("B-1", "16,000 draws by 4 fits, CPU seconds", without, "<=", 30, tables)
    yield Criterion("B-2", "the same with MaxFit, CPU seconds", sum(seconds.values()), "<=", 1200, tables)
    spent = found["cpu s of all experiments"]
    yield Criterion("B-3", "186 experiments, all fits, CPU seconds", spent, "<=", 14_400, everything)
    for number, method, limit in (("B-4", "NNLS", 60), ("B-5", "ReWeighted", 120)):
        fit = large[method]
        yield Criterion(number, f"{method}, a million cells, CPU seconds", fit["cpu s"], "<=", limit, everything)
        yield Criterion(number, "its gap", fit["gap"], "<=", 1e-6, everything)
        yield Criterion(number, "memory of the process, GiB", fit["peak GiB of the process"], "<=", 2, everything)


def table(criteria: Iterator[Criterion], command: str) -> Iterator[str]:
    """The rows of a page, each with the command that measures it."""
    yield "| | what | command | target | measured | met |"
    yield "|---|---|---|---|---|---|"
    for each in criteria:
        ran = " ".join(part for part in (command, *each.rows) if part)
        measured = f"{each.found:.2g}" if each.found < 1 else f"{each.found:,.1f}"
        limit, met = f"{SIGNS[each.sign]} {each.limit:,}", "yes" if each.is_met else "**no**"
        yield f"| {each.criterion} | {each.what} | `{ran}` | {limit} | {measured} | {met} |"


def page_tables(rap: Sequence[dict[str, Any]], microdata: dict[str, Any]) -> list[list[str]]:
    """Both tables: of RAP and of microdata."""
    return [
        list(table(criteria_of_rap(rap), "benchmarks.rap")),
        list(table(criteria_of_microdata(microdata), "benchmarks.microdata")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="The targets of RAP and of microdata, beside what was measured.")
    parser.add_argument("--rap", type=Path, default=RESULTS / "rap.json")
    parser.add_argument("--microdata", type=Path, default=RESULTS / "microdata.json")
    arguments = parser.parse_args()
    rap, microdata = (json.loads(path.read_text(encoding="utf-8")) for path in (arguments.rap, arguments.microdata))
    print("\n\n".join("\n".join(rows) for rows in page_tables(rap, microdata)))
    every = [*criteria_of_rap(rap), *criteria_of_microdata(microdata)]
    return 0 if all(each.is_met for each in every) else 1


if __name__ == "__main__":
    sys.exit(main())

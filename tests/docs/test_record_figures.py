"""The page about records from releases shows the figures of the benchmarks' results."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.peer_records import compared
from benchmarks.synthesis import table

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/synthetic-records.md").read_text(encoding="utf-8")
OURS, PEERS = (
    json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))
    for name in ("synthesis", "peer_records")
)


@pytest.mark.parametrize("rows", [list(table(OURS)), list(compared(OURS, PEERS))], ids=["ours", "compared"])
def test_the_tables_are_those_that_the_benchmarks_print(rows):
    start = PAGE.splitlines().index(rows[0])
    assert PAGE.splitlines()[start : start + len(rows)] == rows
    assert not PAGE.splitlines()[start + len(rows)].startswith("|")


def test_every_mean_is_that_of_its_runs():
    for by_epsilon in OURS["data"].values():
        for by_kind in by_epsilon.values():
            for row in by_kind.values():
                runs = list(row["by seed"].values())
                for key in runs[0]:
                    mean = sum(run[key] for run in runs) / len(runs)
                    assert row[key] == pytest.approx(mean, rel=1e-3)


def added(row, order):
    return row[f"controlled, {order}-way"] / row[f"tables, {order}-way"] - 1


def test_what_rounding_adds_is_what_the_page_says():
    stated = float(re.search(r"adds at most (\d+)% to its distance of triples", PAGE).group(1)) / 100
    chosen = [by_kind["synthesis_plan"] for by_epsilon in OURS["data"].values() for by_kind in by_epsilon.values()]
    assert stated - 0.01 < max(added(row, 3) for row in chosen) <= stated


def test_ours_is_nearest_in_every_cell():
    for name, by_epsilon in OURS["data"].items():
        for epsilon, by_kind in by_epsilon.items():
            for mechanism in ("aim", "mst"):
                runs = [run for case, run in PEERS.items() if case.startswith(f"{name}:{mechanism}:{epsilon}:")]
                whole = [run["errors"] for run in runs if "errors" in run]
                assert whole
                for order in ("2", "3"):
                    theirs = sum(errors[order]["total_variation"] for errors in whole) / len(whole)
                    assert by_kind["synthesis_plan"][f"controlled, {order}-way"] < theirs

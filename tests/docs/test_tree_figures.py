"""The page about bases shows the figures of the benchmark of hierarchies."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/bases.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "benchmarks/results/trees.json").read_text(encoding="utf-8"))


def planning_seconds(found):
    return found["seconds"]["workload"] + found["seconds"]["select"]


def test_the_table_of_hierarchies_is_that_of_the_benchmark_and_below_what_is_wanted():
    lines = PAGE.split("| hierarchy | loss |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.split("|")[2:-1]] for line in lines]
    cases = ("3,143 counties", "100,000 even", "100,000 uneven")
    chosen = [each for each in RESULTS if each["when"] == "after" and each["case"] in cases]
    for each, (loss, seconds, wanted, distance, memory) in zip(chosen, rows, strict=True):
        found, gap = each["found"], each["found"]["basis_gap"]
        expected = (
            each["loss"],
            f"{planning_seconds(found):.1f}",
            f"{gap:.1e}" if gap else "",
            str(found["megabytes"]),
        )
        assert (loss, seconds, distance, memory) == expected
        assert planning_seconds(found) <= float(wanted)


def test_times_before_and_after_are_those_of_the_benchmark():
    every = [each for each in RESULTS if each["case"] == "1,500 counties"]
    seconds = {(each["when"], each["loss"]): f"{planning_seconds(each['found']):.1f}" for each in every}
    before, after = ([seconds[when, loss] for loss in ("sum", "max")] for when in ("before", "after"))
    text = " ".join(PAGE.split())
    assert (
        f"took {before[0]} and {before[1]} seconds before hierarchies were nested, take {after[0]} and {after[1]}."
        in text
    )

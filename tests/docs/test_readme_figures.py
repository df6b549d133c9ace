"""The speeds on the first page are those of the benchmarks' results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
RESULTS = ROOT / "benchmarks" / "results"
SPEEDS = {row["case"]: row for row in json.loads((RESULTS / "speed.json").read_text())}
PAIRS = json.loads((RESULTS / "nonnegative.json").read_text())["times"]["Adult, pairs"]
#: How each row begins, its seconds, and those, or the gap, of the comparison.
ROWS = {
    "plan all 1,333,501 tables": [SPEEDS["sum, 200 attributes"][key] for key in ("seconds", "yardstick")],
    "the same, least maximum": [SPEEDS["max to 1e-6, 200 attributes"][key] for key in ("seconds", "yardstick")],
    "count and measure": [SPEEDS["measure, 19,600 tables"][key] for key in ("seconds", "yardstick")],
    "reconstruct 161,700": [SPEEDS["reconstruct, 161,700 tables"][key] for key in ("seconds", "yardstick")],
    "plan, measure and reconstruct": [SPEEDS["peer, 20 attributes"][key] for key in ("seconds", "yardstick")],
    "make Adult's 91 tables": [PAIRS["cpu s"], PAIRS["naive gap"]],
}


@pytest.mark.parametrize("row", ROWS)
def test_speeds_are_those_of_the_benchmark(row):
    (line,) = (line for line in README.splitlines() if line.startswith(f"| {row}"))
    seconds, comparison = line.strip("| ").split(" | ")[-2:]
    number = re.search(r": ([\d.e-]+)", comparison)
    assert [float(seconds), float(number[1])] == pytest.approx(ROWS[row], rel=0.05)

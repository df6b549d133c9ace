"""The page about non-negative tables shows the figures of the benchmarks' results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/non-negative.md").read_text(encoding="utf-8")
STATED = json.loads((ROOT / "benchmarks/results/published_errors.json").read_text(encoding="utf-8"))["data"]
QUALITY = json.loads((ROOT / "benchmarks/results/nonnegative.json").read_text(encoding="utf-8"))["data"]
DATA = ("PUMA", "Adult", "salary")
ROWS = {
    "coverage of 95% intervals, all cells": ("coverage of 95%", "{:.1%}"),
    "of counts above 0": ("coverage of 95%, counts above 0", "{:.1%}"),
    "length of intervals, of those that are not cut": ("length beside uncut", "{:.0%}"),
    "published numbers outside their intervals": ("published outside 95%", "{:.1%}"),
    "root mean square error of the median table": ("rmse, median table", "{:#.3g}"),
    "of unbiased estimates": ("rmse of unbiased, median table", "{:#.3g}"),
    "stated / actual RMSE, median": ("stated/actual rmse, median", "{:.2f}"),
    "off by, median table": ("off by, median table", "{:.1%}"),
    "stated / actual bias, median": ("stated/actual bias, median", "{:.2f}"),
}
METHODS = {
    "unbiased": "none",
    "cut at 0": "clip",
    "cut at 0 and rescaled": "clip and rescale",
    "each table projected on the simplex": "simplex",
    '`weights="variance", total="free"`': "nonnegative, variance",
    '`weights="order"`': "nonnegative, order",
    "**the default**": "nonnegative, protect-margins",
    "the default, rounded": "nonnegative, rounded",
}


def cells_of(row):
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip(" *") for cell in line.strip("|").split("|")][1:]


@pytest.mark.parametrize("row", ROWS)
def test_stated_errors_are_those_of_the_benchmark(row):
    key, text = ROWS[row]
    assert cells_of(row) == [text.format(STATED[name]["1.0"][key]) for name in DATA]


@pytest.mark.parametrize(("epsilon", "words"), [("3.0", "epsilon = 3 they are off by"), ("0.3", "epsilon = 0.3 by")])
def test_stated_errors_at_other_budgets_are_those_of_the_benchmark(epsilon, words):
    found = re.search(rf"{words} ([\d.]+%), ([\d.]+%) and ([\d.]+%)", PAGE.replace("\n", " "))
    assert list(found.groups()) == [f"{STATED[name][epsilon]['off by, median table']:.1%}" for name in DATA]


@pytest.mark.parametrize("row", METHODS)
def test_the_quality_of_tables_is_that_of_the_benchmark(row):
    figures = QUALITY["Adult"]["1.0"][METHODS[row]]
    shown = [float(cell.replace(",", "")) for cell in cells_of(row)[:4]]
    keys = ("total variation", "rmse", "one-way rmse", "error of the total")
    assert shown == pytest.approx([figures[key] for key in keys], rel=0.01)

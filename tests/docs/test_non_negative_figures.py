"""The page about non-negative tables shows the figures of the benchmarks' results."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/non-negative.md").read_text(encoding="utf-8")
ERRORS = json.loads((ROOT / "benchmarks/results/published_errors.json").read_text(encoding="utf-8"))
STATED, TRIPLES = ERRORS["data"], ERRORS["triples"]
RESULTS = json.loads((ROOT / "benchmarks/results/nonnegative.json").read_text(encoding="utf-8"))
QUALITY, TIMES = RESULTS["data"], RESULTS["times"]
PUBLISHED = json.loads((ROOT / "benchmarks/results/published_ascent.json").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize("name", ["Adult", "salaries", "PUMA"])
@pytest.mark.parametrize("factor", [30, 100, 300])
def test_the_quality_with_other_factors_is_that_of_the_benchmark(name, factor):
    method = "protect-margins" if factor == 30 else f"variance times {factor} an attribute"
    rows = QUALITY[{"salaries": "salary"}.get(name, name)]
    for cell, key in zip(cells_of(f"{name}, {factor}"), ("total variation", "rmse", "one-way rmse"), strict=True):
        shown = [float(part) for part in cell.split(",")]
        assert shown == pytest.approx(
            [rows[e][f"nonnegative, {method}"][key] for e in ("0.3", "1.0", "3.0")], rel=0.015
        )


#: Rows of times: CPU seconds, and what else is shown, with the number in it.
TIMED = {
    "no cell below 0 by more than 1e-4 of the total, and multipliers times cells at most 1e-4 of the distance": (
        TIMES["Adult, 3-way, nearly"]["cpu s"],
        48_257 * TIMES["Adult, 3-way, nearly"]["below 0, of the total"],
    ),
    "no cell below 0, and proved, after 550 steps": (TIMES["Adult, 3-way"]["cpu s"], TIMES["Adult, 3-way"]["gap"]),
    f"constant step, table by table, stopped after {TIMES['Adult, pairs']['naive steps']:,} steps": (
        TIMES["Adult, pairs"]["naive cpu s"],
        TIMES["Adult, pairs"]["naive gap"],
    ),
    "the published code, after 82 rounds": (PUBLISHED["published code"]["cpu s"], PUBLISHED["published code"]["gap"]),
}


def test_tables_of_three_attributes_keep_to_the_target_by_its_rule():
    nearly, proved = TIMES["Adult, 3-way, nearly"], TIMES["Adult, 3-way"]
    assert nearly["below 0, of the total"] <= 1e-4
    assert nearly["bound off by"] <= 1e-4
    assert proved["gap"] <= 1e-4
    assert nearly["cpu s"] <= proved["cpu s"] <= 120
    (peak,) = re.findall(r"Peak memory is ([\d.]+) GiB", PAGE)
    assert proved["peak GiB of the process"] <= float(peak) <= 3


@pytest.mark.parametrize("row", TIMED)
def test_times_are_those_of_the_benchmark(row):
    seconds, rest = cells_of(row)
    number = re.search(r"\d+(?:\.\d+)?(?:e-\d+)?", rest)
    assert [float(seconds), float(number[0])] == pytest.approx(TIMED[row], rel=0.05)


def test_how_much_faster_the_same_gap_is_reached_is_that_of_the_benchmark():
    ours, theirs = PUBLISHED["nonnegative, to the same gap"], PUBLISHED["published code"]
    assert ours["gap"] <= theirs["gap"]
    (ratio,) = re.findall(r"That is (\d+) times faster", PAGE)
    assert int(ratio) == pytest.approx(theirs["cpu s"] / ours["cpu s"], rel=0.01)
    for row in ("`nonnegative`, asked for the same gap", "`nonnegative`, asked for 1e-6"):
        assert float(cells_of(row)[0]) == pytest.approx(ours["cpu s"], rel=0.05)
    assert PUBLISHED["published code"]["rounds"] == 82


def test_the_standard_error_of_the_mean_of_all_draws_is_that_of_the_benchmark():
    figures = QUALITY["Adult"]["1.0"]["nonnegative, protect-margins"]
    words = r"mean of ten draws, ([\d.]+), with a standard error of ([\d.]+)\. .* off by ([\d.]+) of these on average"
    shown = re.search(words, PAGE.replace("\n", " ")).groups()
    wanted = ("total variation", 4), ("its standard error", 4), ("standard errors", 2)
    assert [float(each) for each in shown] == [round(figures[key], digits) for key, digits in wanted]


def test_how_long_counties_and_ten_attributes_take_is_that_of_the_benchmark():
    found = re.search(
        r"ten values take ([\d.]+) seconds, .* by 18 ages and 2 sexes ([\d.]+)\. ", PAGE.replace("\n", " ")
    )
    keys = ("ten attributes, up to 3-way", "3,143 counties by age and sex")
    assert [float(each) for each in found.groups()] == [round(TIMES[key]["cpu s"], 1) for key in keys]


def test_what_is_stated_of_tables_of_three_attributes_is_that_of_the_benchmark():
    words = (
        r"([\d,]+) cells, each .* median table is ([\d.]+) times the actual one "
        r"\(([\d.]+), of unbiased estimates (\d+)\); "
        r"([\d.]+)% of 95% intervals cover\. A simulation takes ([\d.]+) CPU seconds there, and all of it ([\d.]+) GiB"
    )
    shown = [float(each.replace(",", "")) for each in re.search(words, PAGE.replace("\n", " ")).groups()]
    wanted = (
        ("cells", 1, 0),
        ("stated/actual rmse, median", 1, 2),
        ("rmse, median table", 1, 1),
        ("rmse of unbiased, median table", 1, 0),
        ("coverage of 95%", 100, 1),
        ("cpu s a simulation", 1, 1),
        ("peak GiB of the process", 1, 2),
    )
    assert shown == [round(factor * TRIPLES[key], digits) for key, factor, digits in wanted]


def test_the_figures_of_means_are_those_of_the_benchmark():
    results = json.loads((ROOT / "benchmarks/results/adjusted_means.json").read_text(encoding="utf-8"))
    table = PAGE.split("true size of the group")[1].split("\n\n")[0].splitlines()[2:]
    expected = [
        [
            f"{row['rmse_unbiased']:,.0f}",
            f"{row['rmse_nonnegative']:,.0f}",
            *(f"{row[word]:.1%}" for word in ("coverage", "outside_their_interval", "too_noisy")),
        ]
        for row in results
        if row["rho"] == "0.1"
    ]
    assert [[cell.strip() for cell in line.split("|")[3:-1]] for line in table] == expected
    one_bin = [row for row in results if row["bins"] == 1]
    worst = max(abs(row["rmse_nonnegative"] / row["rmse_unbiased"] - 1) for row in one_bin if row["from"] >= 20)
    text = " ".join(PAGE.split())
    assert f"differ by at most {worst:.1%} at 0.02-zCDP and 0.5-zCDP, too, where the group has 20" in text
    assert f"contain the truth in {min(row['coverage'] for row in one_bin):.1%} of all cases at least" in text

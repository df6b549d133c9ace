"""The pages show the figures of the benchmarks' results, and what they say of them holds."""

import json
import re
from decimal import Decimal
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import (
    fairness,
    gain_plot,
    rap_accounting,
    rap_more_tables,
    rap_or_plan,
    rap_rebuilt,
    records_compared,
    scale,
)
from benchmarks.audit_rap import audit_row
from benchmarks.published_general import K_WAY_PREFIX
from benchmarks.rap_explanations import explanations
from benchmarks.rap_findings import FILES, FINDINGS, HEAD, page_row, results_of
from benchmarks.rap_targets import criteria_of_microdata, criteria_of_rap, page_tables
from residualplanner.publish.report import fairness_data

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?")


@cache
def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def result(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def flat(name):
    """A page without its line breaks."""
    return " ".join(page(name).split())


def row(beginning):
    """What finds a row of a table that begins so."""
    return rf"\n\| {re.escape(beginning)}"


def rows_after(name, head):
    """The cells of the rows of the table whose head has these words."""
    lines = page(name).split(head)[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


# Numbers in rows and sentences.

NONNEGATIVE, README = "docs/non-negative.md", "README.md"
STATED = result("published_errors")["data"]
QUALITY, TIMES = result("nonnegative")["data"], result("nonnegative")["times"]
ASCENT = result("published_ascent")
OURS, PUBLISHED = ASCENT["nonnegative, to the same gap"], ASCENT["published code"]
SPEEDS = {each["case"]: each for each in result("speed")}
TREES = {(each["when"], each["case"], each["loss"]): each for each in result("trees")}
DATA = ("PUMA", "Adult", "salary")
NEARLY, PROVED, PAIRS = (TIMES[f"Adult, {name}"] for name in ("3-way, nearly", "3-way", "pairs"))


def stated(key, factor=1):
    return [factor * STATED[name]["1.0"][key] for name in DATA]


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
DISTANCES = ("total variation", "rmse", "one-way rmse")


def with_factor(name, factor):
    method = "protect-margins" if factor == 30 else f"variance times {factor} an attribute"
    by_epsilon = QUALITY[{"salaries": "salary"}.get(name, name)]
    return [
        by_epsilon[epsilon][f"nonnegative, {method}"][key] for key in DISTANCES for epsilon in ("0.3", "1.0", "3.0")
    ]


#: Of the page on non-negative tables how rows begin, and their numbers, of which as many digits are shown.
SHOWN = {
    row("coverage of 95% intervals, all cells |"): stated("coverage of 95%", 100),
    row("of counts above 0 |"): stated("coverage of 95%, counts above 0", 100),
    row("length of intervals, of those that are not cut |"): stated("length beside uncut", 100),
    row("published numbers outside their intervals |"): stated("published outside 95%", 100),
    row("root mean square error of the median table |"): stated("rmse, median table"),
    row("of unbiased estimates |"): stated("rmse of unbiased, median table"),
    row("stated / actual RMSE, median |"): stated("stated/actual rmse, median"),
    row("off by, median table |"): stated("off by, median table", 100),
    row("stated / actual bias, median |"): stated("stated/actual bias, median"),
    **{
        row(f"{words} |"): [QUALITY["Adult"]["1.0"][name][key] for key in (*DISTANCES, "error of the total")]
        for words, name in METHODS.items()
    },
    **{
        row(f"{name}, {factor} |"): with_factor(name, factor)
        for name in ("Adult", "salaries", "PUMA")
        for factor in (30, 100, 300)
    },
    row("no cell below 0 by more than 1e-4 of the total, and multipliers") + r"[^|]*\|": [NEARLY["cpu s"]],
    row("no cell below 0, and proved, after 550 steps |"): [PROVED["cpu s"], PROVED["gap"]],
    row(f"constant step, table by table, stopped after {PAIRS['naive steps']:,} steps |"): [
        PAIRS["naive cpu s"],
        PAIRS["naive gap"],
    ],
    row(f"the published code, after {PUBLISHED['rounds']} rounds |"): [PUBLISHED["cpu s"], PUBLISHED["gap"]],
    row("`nonnegative`, asked for the same gap |"): [OURS["cpu s"]],
    row("`nonnegative`, asked for 1e-6 |"): [OURS["cpu s"]],
}
#: How rows of the README begin, their seconds, and those, or the gap, of the comparison.
FAST = {
    "plan all 1,333,501 tables": "sum, 200 attributes",
    "the same, least maximum": "max to 1e-6, 200 attributes",
    "count and measure": "measure, 19,600 tables",
    "reconstruct 161,700": "reconstruct, 161,700 tables",
    "plan, measure and reconstruct": "peer, 20 attributes",
}
FASTEST = {words: [SPEEDS[case][key] for key in ("seconds", "yardstick")] for words, case in FAST.items()}
FASTEST["make Adult's 91 tables"] = [PAIRS["cpu s"], PAIRS["naive gap"]]
CLAIMS = [(NONNEGATIVE, words, expected) for words, expected in SHOWN.items()]
for _words, (_seconds, _comparison) in FASTEST.items():
    CLAIMS += [(README, rf"{row(_words)}[^|]*\|", [_seconds]), (README, rf"{row(_words)}[^\n]*?: ", [_comparison])]


@pytest.mark.parametrize(("name", "words", "expected"), CLAIMS, ids=[words for _, words, _ in CLAIMS])
def test_a_page_shows_the_numbers_of_the_results_rounded(name, words, expected):
    _, after = re.split(words, page(name))
    for shown, number in zip(NUMBER.findall(after), expected, strict=False):
        digits = Decimal(shown.replace(",", ""))
        assert abs(float(digits) - number) <= 0.500001 * 10.0 ** digits.as_tuple().exponent


def test_the_figures_of_means_are_those_of_the_benchmark():
    rows = result("adjusted_means")
    expected = [
        [
            f"{row['rmse_unbiased']:,.0f}",
            f"{row['rmse_nonnegative']:,.0f}",
            *(f"{row[word]:.1%}" for word in ("coverage", "outside_their_interval", "too_noisy")),
        ]
        for row in rows
        if row["rho"] == "0.1"
    ]
    assert [row[2:] for row in rows_after(NONNEGATIVE, "true size of the group")] == expected
    one_bin = [row for row in rows if row["bins"] == 1]
    worst = max(abs(row["rmse_nonnegative"] / row["rmse_unbiased"] - 1) for row in one_bin if row["from"] >= 20)
    text = flat(NONNEGATIVE)
    assert f"differ by at most {worst:.1%} at 0.02-zCDP and 0.5-zCDP, too, where the group has 20" in text
    assert f"contain the truth in {min(row['coverage'] for row in one_bin):.1%} of all cases at least" in text


def planning_seconds(row):
    return row["found"]["seconds"]["workload"] + row["found"]["seconds"]["select"]


def test_the_figures_of_hierarchies_are_those_of_the_benchmark():
    cases = ("3,143 counties", "100,000 even", "100,000 uneven")
    chosen = [row for row in result("trees") if row["when"] == "after" and row["case"] in cases]
    shown = rows_after("docs/bases.md", "| hierarchy | loss |")
    for each, (_, loss, seconds, wanted, distance, memory) in zip(chosen, shown, strict=True):
        gap = each["found"]["basis_gap"]
        expected = (f"{planning_seconds(each):.1f}", f"{gap:.1e}" if gap else "", str(each["found"]["megabytes"]))
        assert (loss, seconds, distance, memory) == (each["loss"], *expected)
        assert planning_seconds(each) <= float(wanted)
    before, after = (
        [f"{planning_seconds(TREES[when, '1,500 counties', loss]):.1f}" for loss in ("sum", "max")]
        for when in ("before", "after")
    )
    text = f"took {before[0]} and {before[1]} seconds before hierarchies were nested, take {after[0]} and {after[1]}."
    assert text in flat("docs/bases.md")


# Audits.

AUDIT, RAP_AUDIT = result("audit"), [each for every in result("audit_rap").values() for each in every]
#: How many runs on each side there are at least: of single rounds of RAP, and of all stages of synthetic records.
ROUNDS, STAGES = 200_000, 4_000


@pytest.mark.parametrize("found", [*AUDIT["audits"], *AUDIT["planted"]], ids=lambda found: found["what"])
def test_each_adversary_has_a_row_and_finds_what_is_claimed_and_each_planted_fault(found):
    line = f"| {found['what']} | {found['claim']:.4f} | {found['mu']:.4f} ± {found['mu_error']:.4f} |"
    assert found["right"]
    if found in AUDIT["planted"]:
        assert found["mu"] > found["claim"] + 5 * found["mu_error"]
    else:
        line += f" {found['epsilon_claim']:.3f} | {found['epsilon']:.3f} |"
        assert found["runs"] >= 10_000_000
        assert abs(found["mu"] - found["claim"]) <= 5 * found["mu_error"]
        assert found["epsilon"] <= found["epsilon_claim"]
    assert line in page("docs/testing-privacy.md").splitlines()


@pytest.mark.parametrize("found", RAP_AUDIT, ids=lambda found: found["what"])
def test_each_adversary_of_rap_has_a_row_and_found_no_more_than_is_allowed(found):
    assert audit_row(found) in page(RAP).splitlines()
    assert found["right"]
    assert found["runs"] >= (STAGES if found in result("audit_rap")["stages"] else ROUNDS)
    assert found["mu"] <= found["mu_claim"] + 5 * found["mu_error"]
    assert found["epsilon"] <= found["epsilon_claim"]


# Adaptive projection and microdata.

RAP, PUBLISHED, MICRODATA = "docs/adaptive-projection.md", "docs/rap-as-published.md", "docs/microdata.md"
SPEED, FITS = result("rap"), result("microdata")
#: The targets as they were set: every figure in the order of its number.
LIMITS = [4, 0.3, 2, 60, 2, 12, 1240, 6, 600, 2, 60, 1, 0.1, 10, 30, 1200, 14_400, 60, 1e-6, 2, 120, 1e-6, 2]
TARGETS = ["A-1", "A-1b", "A-2", "A-2b", "A-3", "A-4", "A-5", "A-6", "B-1", "B-2", "B-3", "B-4", "B-5"]


@pytest.fixture(scope="module")
def results():
    return results_of(*FILES)


@pytest.mark.parametrize("judge", FINDINGS, ids=lambda each: each.__name__)
def test_each_finding_stands_on_the_page_as_the_results_say(judge, results):
    assert page_row(judge(results)) in page(PUBLISHED).splitlines()


def test_every_finding_has_a_row_with_all_columns_a_verdict_and_a_command_that_exists():
    rows = rows_after(PUBLISHED, HEAD)
    assert [row[0] for row in rows] == [f"F{number}" for number in range(1, 25)]
    for row in rows:
        assert len(row) == 7
        assert row[5].startswith(("**shown**", "**in part**. ", "**not shown**", "**contradicted**"))
        assert row[4].split(":")[0] in ("in part", "no")
        for command in row[6].strip("`").split("; "):
            assert (ROOT / "benchmarks" / f"{command.split()[0]}.py").exists()


def test_explanations_and_the_tables_of_pages_on_rap_are_those_that_the_commands_print(results):
    for line in explanations(results):
        assert line[1:] in flat(PUBLISHED), line  # the first letter may be a capital
    for rows in (rap_more_tables.page_rows(results.more), rap_rebuilt.page_rows(rap_rebuilt.results())):
        assert "\n".join(rows) + "\n\n" in page(PUBLISHED)
    assert "\n".join(rap_or_plan.rows(results)) + "\n\n" in page(RAP)
    assert "\n".join(rap_accounting.page_rows(results.accounting)) + "\n\n" in page(RAP)


def test_targets_are_those_that_were_set_all_are_met_and_one_that_is_missed_is_told():
    for name, rows in zip((RAP, MICRODATA), page_tables(SPEED, FITS), strict=True):
        assert "\n".join(rows) + "\n\n" in page(name)
    every = [*criteria_of_rap(SPEED), *criteria_of_microdata(FITS)]
    assert [each.limit for each in every] == LIMITS
    assert all(each.found <= each.limit for each in every)
    assert list(dict.fromkeys(each.criterion for each in every)) == TARGETS
    slow = [line | ({"cpu_seconds": 61.0} if line["case"] == "adaptive" else {}) for line in SPEED]
    [row] = [row for row in page_tables(slow, FITS)[0] if "rounds of 4 cells" in row]
    assert row.endswith("| at most 60 | 61.0 | **no** |")


# Synthetic records.


def test_the_page_of_synthetic_records_has_the_comparison_with_other_mechanisms():
    rows = "\n".join(records_compared.table())
    assert rows in page("docs/synthetic-records.md"), "put the output of records_compared --table into the page"


# Very many tables.


def test_the_page_of_very_many_tables_has_the_rows_of_the_results():
    rows = "\n".join(scale.rows())
    assert rows in page("docs/many-tables.md"), "put the output of python -m benchmarks.scale into the page"


# Pictures: of bases, and the paper's figures 1 to 3.

GAIN, BASES = result("gain"), ("optimal", "orthogonal")
FAIRNESS = pd.read_csv(ROOT / "benchmarks" / "results" / "fairness.csv")
PICTURES = {"bases-gain": 150_000, "bases-prefix": 150_000, "rap-regressions": 150_000, "start": 60_000} | {
    f"fairness-{name}": 60_000 for name in fairness.FIGURES
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_whole_and_not_too_large(name):
    text = page(f"docs/{name}.svg")
    assert text.rstrip().endswith("</svg>")
    assert len(text) < PICTURES[name]
    assert not re.search(r"<dc:date>", text)  # drawn again, the file is the same


@pytest.mark.thorough
def test_the_gains_of_bases_are_those_of_the_library_and_those_that_others_published():
    sizes = gain_plot.NUMBERS_OF_ATTRIBUTES
    computed = list(gain_plot.gains())
    assert len(computed) == len(GAIN["gain"]) == sum(sizes)
    for now, saved in zip(computed, GAIN["gain"], strict=True):
        assert (now["attributes"], now["order"]) == (saved["attributes"], saved["order"])
        assert [now[bases] for bases in BASES] == pytest.approx([saved[bases] for bases in BASES], rel=1e-4)
        others = [saved[name] for name in ("orthogonal", "hdmm", "residualplanner_plus") if saved[name] is not None]
        assert saved["optimal"] <= min(others) * (1 + 1e-3)  # no line is below by more than printed digits
    for attributes in sizes:
        rows = [row for row in GAIN["gain"] if row["attributes"] == attributes]
        published = K_WAY_PREFIX[attributes, gain_plot.SIZE]
        for name, figures in zip(("hdmm", "residualplanner_plus"), published, strict=False):
            assert tuple(row[name] for row in rows if row[name] is not None) == figures


def test_the_papers_figures_are_those_of_the_library_and_show_what_the_paper_says():
    data = {weights: fairness_data(plan) for weights, plan in fairness.plans().items()}
    for weights, claim in fairness.claims(data).items():
        assert claim.holds, (weights, claim)
    assert FAIRNESS["order"].value_counts().to_dict() == {0: 1, 1: 14, 2: 91, 3: 364}
    for weights, frame in data.items():
        assert FAIRNESS["query"].tolist() == frame["query"].tolist()
        assert FAIRNESS[f"std_err_{weights}"].to_numpy() == pytest.approx(frame["std_err"].to_numpy(), rel=1e-5)

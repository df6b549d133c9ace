"""The pages on adaptive projection and on microdata show the figures of the benchmarks' results."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import rap_or_plan
from benchmarks.audit_rap import audit_row
from benchmarks.rap_explanations import Regression, explanations
from benchmarks.rap_findings import FILES, FINDINGS, Results, complete, page_row, results_of
from benchmarks.rap_targets import criteria_of_microdata, criteria_of_rap, page_tables

ROOT = Path(__file__).resolve().parents[2]
RAP, MICRODATA = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("adaptive-projection", "microdata")
)
SPEED, FITS, AUDIT = (
    json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    for name in ("rap", "microdata", "audit_rap")
)
#: The targets as they were set: every figure in the order of its number.
LIMITS = [4, 0.3, 2, 60, 2, 12, 1240, 6, 600, 2, 60, 1, 0.1, 10, 30, 1200, 14_400, 60, 1e-6, 2, 120, 1e-6, 2]


@pytest.fixture(scope="module")
def results():
    return results_of(*FILES)


#: F18 times a function anew in each run.
TIMED = "f18"


@pytest.mark.parametrize("judge", [each for each in FINDINGS if each.__name__ != TIMED], ids=lambda each: each.__name__)
def test_each_finding_stands_on_the_page_as_the_results_say(judge, results):
    assert page_row(judge(results)) in RAP.splitlines()


def test_the_figures_of_explanations_are_those_that_the_command_prints(results):
    page = " ".join(RAP.split())
    for line in explanations(results):
        assert line.split(": ", 1)[1] in page, line


def test_moments_of_a_regression_follow_from_its_standard_errors():
    generator = np.random.default_rng(0)
    kinds = [generator.uniform(3, 9, 50), generator.uniform(0, 4, 50)]
    x = np.concatenate([kinds[0], kinds[1], generator.random(200)])
    groups = np.repeat(np.arange(6), 50)
    columns = np.zeros((300, 12))
    columns[np.arange(300), 2 * groups], columns[np.arange(300), 2 * groups + 1] = 1, x
    for column in (0, 1):  # the second group by its differences from the first
        columns[:, column] += columns[:, column + 2]
    errors = columns @ generator.standard_normal(12) + 0.1 * generator.standard_normal(300)
    fitted = np.linalg.lstsq(columns, errors)[0]
    left = float(np.square(errors - columns @ fitted).sum())
    t = fitted / np.sqrt(left / 288 * np.linalg.inv(columns.T @ columns).diagonal())
    printed = [(float(b), float(each)) for b, each in zip(fitted, t, strict=True)]
    likelihood = -150 * (math.log(2 * math.pi) + math.log(left / 300) + 1)
    regression = Regression(300, 12, likelihood, (printed[0], printed[1]), (printed[2], printed[3]))
    assert regression.deviation == pytest.approx(math.sqrt(left / 288))
    assert regression.mean_logarithms() == pytest.approx([each.mean() for each in kinds])


def test_the_table_of_rap_beside_a_plan_is_the_one_that_the_command_prints(results):
    assert "\n".join(rap_or_plan.rows(results)) + "\n\n" in RAP


def test_a_table_in_tiles_takes_the_memory_that_the_page_says_and_gives_the_same_choices():
    tiled, whole = (next(line for line in SPEED if line["case"] == case) for case in ("tiles", "untiled"))
    besides = [each["peak_mib"] - each["before_mib"] for each in (tiled, whole)]
    page = " ".join(RAP.split())
    assert f"in {tiled['tiles']} tiles, the process needs {besides[0]} MiB besides; whole, {besides[1]} MiB" in page
    assert besides[0] <= tiled["memory_mib"]
    assert tiled["chosen"] == whole["chosen"]
    assert tiled["cpu_seconds"] < whole["cpu_seconds"]


def test_every_finding_that_does_not_hold_is_explained():
    for line in RAP.splitlines():
        if line.startswith("| F") and line.endswith("| does not hold |"):
            assert f"\n- {line.split(' | ')[0][2:]}: " in RAP


PAGES = list(zip((RAP, MICRODATA), page_tables(SPEED, FITS), strict=True))


@pytest.mark.parametrize(("page", "rows"), PAGES, ids=["adaptive-projection", "microdata"])
def test_the_table_of_targets_is_the_one_that_the_command_prints(page, rows):
    assert "\n".join(rows) + "\n\n" in page


def test_targets_are_those_that_were_set_and_all_are_met():
    every = [*criteria_of_rap(SPEED), *criteria_of_microdata(FITS)]
    assert [each.limit for each in every] == LIMITS
    assert all(each.found <= each.limit for each in every)
    numbers = dict.fromkeys(each.criterion for each in every)
    assert list(numbers) == [
        "A-1",
        "A-1b",
        "A-2",
        "A-2b",
        "A-3",
        "A-4",
        "A-5",
        "A-6",
        "B-1",
        "B-2",
        "B-3",
        "B-4",
        "B-5",
    ]


def test_a_target_that_is_missed_is_told():
    slow = [line | ({"cpu_seconds": 61.0} if line["case"] == "adaptive" else {}) for line in SPEED]
    [row] = [row for row in page_tables(slow, FITS)[0] if "rounds of 4 cells" in row]
    assert row.endswith("| at most 60 | 61.0 | **no** |")


def test_seeds_that_some_setting_lacks_count_for_none():
    points = [{"rounds": 1, "choices": k, "seed": seed, "largest": float(k + seed)} for k in (4, 16) for seed in (0, 1)]
    assert complete(points, "rounds", "choices") == points
    assert {each["seed"] for each in complete(points[:-1], "rounds", "choices")} == {0}
    grid = [each | {"method": "rap"} for each in points[:-1]]
    assert Results(grid, [], []).by_setting() == {(1, 4): 4.0, (1, 16): 16.0}
    assert Results(grid, [], []).seeds("rounds", "choices") == "1 seed"


@pytest.mark.parametrize("found", [each for every in AUDIT.values() for each in every], ids=lambda found: found["what"])
def test_each_adversary_has_a_row_and_found_no_more_than_is_allowed(found):
    assert audit_row(found) in RAP.splitlines()
    assert found["right"]
    assert found["runs"] >= 200_000
    assert found["mu"] <= found["mu_claim"] + 5 * found["mu_error"]
    assert found["epsilon"] <= found["epsilon_claim"]

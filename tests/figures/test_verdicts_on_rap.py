"""How claims about RAP are judged, and what the regressions that were published about it say."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.rap_accounting import RESULTS, by_setting, worst_of
from benchmarks.rap_explanations import ADULT_RUNS, BY_TABLES, LOANS, LOANS_RUNS, design
from benchmarks.rap_rebuilt import Fit, Point, project, selected
from benchmarks.rap_results import (
    Finding,
    Part,
    Results,
    at_most,
    charged_lines,
    difference,
    parts_by_verdict,
    ratio,
)
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.relaxed_records import sparsemax
from residualplanner.fits.rap.tiles import ThresholdTable


def test_a_difference_is_shown_only_beyond_its_error_by_students_t():
    close = difference([0.1, 0.2, 0.3])  # the mean is 3.5 standard errors from 0, and t at 95% with 2 degrees is 4.3
    assert close.mean / close.error == pytest.approx(2 * math.sqrt(3))
    assert close.verdict == "not shown"
    assert difference([0.15, 0.2, 0.25]).verdict == "shown"
    assert difference([-0.15, -0.2, -0.25]).verdict == "contradicted"
    assert difference([0.2]).verdict == "not shown"


def test_a_ratio_of_errors_is_compared_on_the_same_seeds_with_its_interval():
    found = ratio({0: 0.1, 1: 0.2, 7: 9.0}, {0: 0.2, 1: 0.4, 2: 5.0})
    assert found.mean == pytest.approx(0.5)
    assert found.interval == pytest.approx((0.5, 0.5))
    assert ratio({0: 0.1, 1: 0.4}, 0.2).verdict == "not shown"


def test_errors_are_alike_only_if_the_whole_interval_of_their_ratio_is_near_1():
    ones = {0: 1.0, 1: 1.0, 2: 1.0}
    assert ratio({0: 1.0, 1: 1.05, 2: 1.02}, ones).within(1.3) == "shown"
    assert ratio({0: 1.0, 1: 1.5, 2: 0.7}, ones).within(1.3) == "not shown"  # 1 is in its interval, and much else
    assert ratio({0: 2.0, 1: 2.1, 2: 2.05}, ones).within(1.3) == "contradicted"
    assert ratio({0: 1.0}, ones).within(1.3) == "not shown"  # a single seed


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        (["shown", "shown"], "shown"),
        (["shown", "not shown"], "in part"),
        (["contradicted", "not shown"], "contradicted"),
        (["not shown"], "not shown"),
    ],
)
def test_a_claim_is_shown_only_if_all_of_its_parts_are(verdicts, together):
    parts = tuple(Part(f"part {number}", verdict) for number, verdict in enumerate(verdicts))
    row = Finding("F0", "a claim", "its numbers", "ours", "no", parts, "rap")
    assert row.verdict == together
    assert all(part.what in row.explained for part in parts)


def test_many_points_of_one_verdict_are_counted_and_few_are_listed():
    many = {str(point): "shown" for point in range(9)} | {"last": "not shown"}
    assert [part.what for part in parts_by_verdict("below", many)] == ["below at 9 of 10 points", "below (last)"]
    assert [part.what for part in parts_by_verdict("below", dict.fromkeys("ab", "not shown"))] == ["below anywhere"]


def test_an_error_that_hardly_grows_has_its_whole_interval_below_the_factor():
    ones = {0: 1.0, 1: 1.0, 2: 1.0}
    assert at_most(ratio({0: 1.0, 1: 1.02, 2: 1.01}, ones), 1.1) == "shown"
    assert at_most(ratio({0: 1.0, 1: 1.5, 2: 0.7}, ones), 1.1) == "not shown"
    assert at_most(ratio({0: 1.5, 1: 1.52, 2: 1.51}, ones), 1.1) == "contradicted"


def test_runs_are_only_compared_if_every_setting_has_them():
    def run(choices, seed):
        return {"method": "rap", "rounds": 1, "choices": choices, "seed": seed, "largest": 1.0}

    points = [run(choices, seed) for choices in (1, 4) for seed in (0, 1)] + [run(1, 2)]
    found = Results(points, [], []).runs()
    assert {setting: set(errors) for setting, errors in found.items()} == {(1, 1): {0, 1}, (1, 4): {0, 1}}


def test_the_default_is_compared_with_the_optimizer_beside_which_it_is_worst():
    by = {
        "default": {0: 0.2, 1: 0.3, 2: 9.0},
        "before": {0: 0.1, 1: 0.15},
        "published": {0: 0.4, 1: 0.6},
    }
    name, found = worst_of(by)
    assert name == "before"
    assert found.mean == pytest.approx(2)


def test_in_no_setting_is_the_default_shown_to_be_worse_than_the_better_of_the_others():
    compared = {
        setting: worst_of(by)
        for setting, by in by_setting(charged_lines(RESULTS)).items()
        if setting[1] == 16 and by["before"]
    }
    assert len(compared) >= 42  # both accountings
    assert all(found.interval[0] <= 1 for _, found in compared.values())
    largest = max(compared.items(), key=lambda item: item[1][1].mean)  # as docs/adaptive-projection.md says
    assert largest[0] == ("joint", 16, 0.1, 16, 64)
    assert (largest[1][0], str(largest[1][1])) == ("published", "1.10 (0.84 to 1.43)")
    over_tables = by_setting(charged_lines(RESULTS), "mean_largest")[largest[0]]
    assert ratio(over_tables["default"], over_tables["published"]).mean == pytest.approx(0.99, abs=0.005)


def test_the_published_p_values_are_those_of_two_degrees_of_freedom_and_not_of_six():
    for regression, runs, printed in ((BY_TABLES, ADULT_RUNS, 0.026), (LOANS, LOANS_RUNS, 0.623)):
        assert len(runs) == regression.runs
        found = regression.ratio(runs, "tables")
        assert chi2.sf(found, 2) == pytest.approx(printed, abs=0.003)  # coefficients have four decimals
        assert chi2.sf(found, 6) > 0.3


def test_the_published_condition_numbers_are_those_of_an_indicator_of_all_tables():
    assert round(float(np.linalg.cond(design(ADULT_RUNS, "tables")[1])), 1) == 64.4
    assert round(float(np.linalg.cond(design(LOANS_RUNS, "tables")[1])), 1) == 75.6
    as_the_paper_says = [run | {"filtered": not run["filtered"]} for run in ADULT_RUNS]
    assert round(float(np.linalg.cond(design(as_the_paper_says, "tables")[1])), 1) == 64.1


def test_the_rebuilt_rap_projects_on_the_simplex_as_the_library_does():
    generator = np.random.default_rng(0)
    for size in (2, 50):
        points = sparsemax(generator.random((size, 200), dtype=np.float32), OneHot((size,)))
        points[:2] += generator.normal(0, 0.05, (2, 200)).astype(np.float32)
        expected = sparsemax(points, OneHot((size,)))
        project(points)
        assert points == pytest.approx(expected, abs=1e-6)


def test_shifted_indices_measure_a_neighbor_of_what_was_chosen():
    generator = np.random.default_rng(0)
    fit = Fit((3, 4), 50, generator)
    table = ThresholdTable((0, 1), (3, 4), 2)
    truth = np.zeros(12)
    truth[7] = 5.0  # by far the worst, so that it is chosen once cells 1 and 5 are removed
    for index, measured in (("right", 7), ("shifted", 5)):
        point = Point(1.0, 2, 1, index)
        assert selected(fit, [(table, truth)], [[1, 5]], point, 1e-9, generator) == [(0, measured)]

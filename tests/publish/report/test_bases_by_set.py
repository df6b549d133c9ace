"""What people and programs read of plans and releases whose attributes have bases by set."""

import json

import numpy as np
import pytest

import residualplanner as rp
from html_pages import read_page
from made_releases import any_release
from random_plans import plan_by_set, sample_workload
from residualplanner.publish.report.figures import fairness_of
from residualplanner.publish.report.subject import subject_of
from residualplanner.shell.cli.words import bases_text

PLAN = plan_by_set(sample_workload(), 1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("by_set") / "release"
    any_release(PLAN).save(folder)
    return folder


def test_a_plan_is_summed_up_in_plain_words():
    assert PLAN.basis_summary == {"optimal_by_set": 2, "subtraction": 2}
    assert bases_text(PLAN) == "optimal by set for a, b; subtraction for c, one"


@pytest.mark.slow
def test_reports_of_plan_release_and_folder_say_the_same_of_bases(saved, tmp_path):
    for subject in (PLAN, any_release(PLAN), saved):
        page = tmp_path / f"{type(subject).__name__}.html"
        rp.publish.write_report(subject, page)
        text = read_page(page).one("body").text
        assert "Bases: optimal by set for 2 attributes, subtraction for 2 attributes." in text
        assert "Other weightings were not planned here: that would take long" in text


def test_no_weighting_with_one_basis_stands_beside_bases_by_set():
    assert list(fairness_of(subject_of(PLAN, level=0.95))) == ["plan"]


def test_the_manifest_says_how_many_bases_an_attribute_has(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    by_set = PLAN.strategy
    count = {i: len({id(by_set.basis(members, i)) for members in PLAN.closure if i in members}) for i in (0, 1)}
    assert count[0] > 1
    assert manifest["plan"]["bases"] == {
        "a": {"family": "optimal_by_set", "answers": 3, "bases": count[0]},
        "b": {"family": "optimal_by_set", "answers": 2, "bases": count[1]},
        "c": {"family": "subtraction", "answers": 2, "pcost": "2/3"},
        "one": {"family": "subtraction", "answers": 0, "pcost": "0"},
    }


def test_tables_are_written_with_the_standard_errors_of_their_own_cells(saved):
    tables = rp.load_tables(saved)
    for query in PLAN.workload:
        np.testing.assert_allclose(
            tables.numbers.frame(query).std_err, np.sqrt(PLAN.variance(query)).ravel(), rtol=1e-12
        )
    assert np.ptp(tables.numbers.frame({"a": rp.Range(), "c": rp.Identity(), "one": rp.Identity()}).std_err) > 0

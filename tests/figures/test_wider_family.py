"""What bases by set gain, and that explicit matrices confirm it."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import residualplanner as rp
from benchmarks.wider_family import cases, explicit, require_confirmed
from workloads_by_set import ODD, TINY

ROOT = Path(__file__).resolve().parents[2]
SAVED = json.loads((ROOT / "benchmarks" / "results" / "wider_family.json").read_text(encoding="utf-8"))
RECORD = (ROOT / "docs" / "decisions" / "0010-one-basis-for-an-attribute.md").read_text(encoding="utf-8")


def test_explicit_matrices_confirm_plans_and_refuse_what_is_wrong():
    plan = rp.select(ODD, budget=rp.pcost(1), bases="optimal_by_set")
    assert 1 - 1e-6 <= require_confirmed(plan) <= plan.pcost
    tiny = rp.select(TINY, budget=rp.pcost(1), bases="optimal_by_set")
    more = replace(tiny, noise_variances=tiny.noise_variances * 1.01)
    with pytest.raises(ArithmeticError, match="the loss is"):
        require_confirmed(more)
    one = rp.select(TINY, budget=rp.pcost(1), bases="optimal")
    with pytest.raises(ArithmeticError, match="one basis for each attribute"):
        explicit(one)


def test_saved_figures_are_within_a_half_percent_and_not_below_the_best():
    assert sum(row["library"] > 1.005 * row["optimum"] for row in SAVED[:6]) == 6
    for row in SAVED:
        assert row["optimum"] * (1 - 1e-5) <= row["by_set"] <= 1.005 * row["optimum"]
        assert row["by_set"] < row["library"]
        assert row["slack"] < 1e-6


@pytest.mark.thorough
def test_saved_figures_are_of_the_present_workloads_and_plans():
    assert [row["workload"] for row in SAVED] == [name for name, _ in cases()]
    for row, (_, workload) in zip(SAVED, cases(), strict=True):
        loss = rp.select(workload, budget=rp.pcost(1), bases="optimal").loss_value
        assert math.sqrt(loss / workload.cells.sum()) == pytest.approx(row["library"], rel=1e-5)


def test_a_plan_by_set_has_the_error_that_was_saved():
    row, (_, workload) = SAVED[1], list(cases())[1]
    plan = rp.select(workload, budget=rp.pcost(1), bases="optimal_by_set")
    assert plan.rmse == pytest.approx(row["by_set"], rel=2e-4)
    assert len(plan.strategy.bases) == row["bases"]


def test_the_decision_record_has_the_saved_figures():
    for row in SAVED:
        figures = f"{row['library'] / row['optimum']:.4f} | {row['by_set'] / row['optimum']:.4f} ({row['bases']})"
        assert f"| {row['workload']} | {figures} |" in RECORD

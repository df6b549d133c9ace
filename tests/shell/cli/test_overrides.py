"""What is typed replaces what the spec says; the plan is that of select, and the changes are said."""

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import approx_dp, load_plan, marginals, pcost, select, zcdp


@pytest.mark.parametrize(
    ("typed", "options"),
    [
        (("--budget", "zcdp=2"), {"budget": zcdp("2")}),
        (("--budget", "pcost=2"), {"budget": pcost("2")}),
        (("--budget", "epsilon=1, delta=1e-9"), {"budget": approx_dp("1", "1e-9")}),
        (("--at-most", "25"), {"at_most": 25.0}),
        (("--loss", "sum"), {"budget": zcdp("0.5")}),
        (("--loss", "max"), {"budget": zcdp("0.5"), "loss": rp.losses.MaxVariance()}),
        (("--loss", "sqrt"), {"budget": zcdp("0.5"), "loss": rp.losses.SumOfVariances("sqrt")}),
        (("--loss", "equal", "--at-most", "9"), {"at_most": 9.0, "loss": rp.losses.SumOfVariances("equal")}),
    ],
)
def test_the_plan_is_the_one_of_what_was_typed(run, spec, folder, typed, options):
    result = run("plan", spec, "-o", "p", *typed, status=0)
    plan = load_plan(folder / "p")
    expected = select(marginals(plan.domain, up_to=2), **options)
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
    assert (plan.budget, plan.loss.words) == (expected.budget, expected.loss.words)
    name, value = typed[-2].removeprefix("--").replace("-", "_"), typed[-1]
    assert f"{name} {value}" in result.stdout.split("Workload")[0]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("--budget", "zcdp=1", "--at-most", "3"), "--budget and --at-most exclude each other"),
        (("--budget", "rho=1"), "--budget: a budget is written as zcdp=1, pcost=1 or epsilon=1,delta=1e-9"),
        (
            ("--budget", "gdp=1/3"),
            "--budget: a budget of 1/3-GDP for continuous noise does not hold for discrete noise",
        ),
        (("--budget", "gdp=1/3"), "write zcdp=1/18 for the same noise"),
        (("--budget", "gdp=inf"), "--budget: mu must be positive and finite"),
        (("--budget", "zcdp=-1"), "--budget: rho must be positive"),
        (("--at-most", "0"), "--at-most: the largest loss allowed is a number above 0, in counts squared; got 0"),
        (("--at-most", "nan"), "--at-most: the largest loss allowed"),
        (("--at-most", "many"), "--at-most"),
        (("--loss", "mean"), "--loss"),
        (("--level", "95"), "level must be between 0 and 1, such as 0.95, got 95"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(run, spec, records, folder, typed, told):
    before = sorted(folder.iterdir())
    for command in (("plan", spec), ("release", spec, records, "-o", "out")):
        result = run(*command, *typed, status=2)
        assert told in " ".join(result.stderr.replace("│", " ").split())
    assert sorted(folder.iterdir()) == before


TARGETS = '\n[[targets]]\nqueries = [["age", "sex"]]\nmoe = 9.0\n'


def test_a_typed_loss_takes_the_place_of_targets(run, spec, folder):
    text = spec.read_text().replace('budget = { zcdp = "0.5" }\nloss = "sum"\n', "")
    spec.write_text(text + TARGETS)
    run("plan", spec, "-o", "t", status=0)
    assert load_plan(folder / "t").targets is not None
    assert (
        "has no limit for that loss; add --budget or --at-most" in run("plan", spec, "-o", "p", "--loss", "sum").stderr
    )
    assert "has no loss; add --loss" in run("plan", spec, "-o", "p", "--at-most", "9").stderr
    run("plan", spec, "-o", "p", "--loss", "max", "--at-most", "9", status=0)
    plan = load_plan(folder / "p")
    assert (plan.targets, plan.loss.words) == (None, "maximum variance")
    np.testing.assert_array_equal(plan.noise_variances, select(plan.workload, at_most=9.0, loss="max").noise_variances)
    run("plan", spec, "-o", "b", "--budget", "zcdp=1", status=0)
    assert load_plan(folder / "b").budget == zcdp("1")
    assert load_plan(folder / "b").targets is not None

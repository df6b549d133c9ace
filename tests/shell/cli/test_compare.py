"""The command compare: plans side by side, in words, as lines for programs, and as a file."""

import pytest

import residualplanner as rp
from residualplanner import load_plan
from shell.specs import events


@pytest.fixture
def plans(folder, spec, run):
    for name, typed in (("sum", []), ("even", ["--loss", "max", "--budget", "zcdp=1"])):
        run("plan", spec, "-o", f"{name}.plan", "--quiet", *typed, status=0)
    return {name: load_plan(folder / f"{name}.plan") for name in ("sum", "even")}


def test_totals_and_margins_are_those_of_the_plans(plans, run):
    result = run("compare", "sum.plan", "even.plan", "--level", "0.9", status=0)
    assert "Margin of error of a cell (90%)" in result.output
    lines = events(run("compare", "sum.plan", "even.plan", "--level", "0.9", "--json"))
    totals = {line["plan"]: line for line in lines if line["event"] == "plan"}
    assert {name: total["pcost"] for name, total in totals.items()} == {n: plan.pcost for n, plan in plans.items()}
    rows = [line for line in lines if line["event"] == "margins-of-table"]
    errors = {name: plan.errors(0.9).set_index("query")["moe"] for name, plan in plans.items()}
    ratios = []
    for row in rows:
        expected = [errors[name][row["query"]] for name in row["plans"]]
        assert row["moe"] == pytest.approx(expected)
        ratios.append(max(expected) / min(expected))
    assert rows
    assert ratios == sorted(ratios, reverse=True)


def test_what_cannot_be_compared_is_refused_in_one_line(folder, plans, run):
    rp.select(rp.marginals(rp.Domain({"other": 3}), up_to=1), budget=rp.zcdp(1)).save(folder / "other.plan")
    for arguments, words in (
        (["sum.plan"], "compare takes two or more different plans"),
        (["sum.plan", "sum.plan"], "compare takes two or more different plans"),
        (["sum.plan", "other.plan"], "only over the same domain"),
        (["sum.plan", "absent.plan"], "absent.plan"),
        (["sum.plan", "even.plan", "-o", "sum.plan"], "sum.plan exists already"),
        (["sum.plan", "even.plan", "--level", "2"], "level must be between 0 and 1"),
    ):
        result = run("compare", *arguments, status=2)
        assert words in " ".join(result.output.split())

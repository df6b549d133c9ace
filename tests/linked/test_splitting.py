"""The split of one budget between tables: against the dense mechanism on both, and against other splits."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import linked

HOUSEHOLDS = rp.marginals(rp.Domain({"tenure": 2, "region": 2}), up_to=2)
PERSONS = rp.marginals(rp.Domain({"age": 3, "sex": 2}), up_to=1)
RECORDS = {"households": 1, "persons": 3}
TABLES = linked.LinkedTables({"households": (HOUSEHOLDS, 1), "persons": (PERSONS, 3)}, unit="serial")
BUDGET = rp.pcost("0.7")


def queries(workload):
    """All cells of all queries, a row each."""
    sizes = workload.domain.sizes
    rows = []
    for query in workload:
        names = [query] if isinstance(query, str) else list(query)
        parts = [
            np.eye(size) if name in names else np.ones((1, size))
            for name, size in zip(workload.domain.names, sizes, strict=True)
        ]
        rows.append(np.kron(*parts))
    return np.vstack(rows)


def dense_sum(neighbors, *, is_joint):
    """The least sum of variances of all cells of both tables, of all mechanisms with Gaussian noise of this cost.

    Where noise is joint, that of one table may depend on that of the other.
    """
    each = [queries(workload) for workload in (HOUSEHOLDS, PERSONS)]
    sizes = [rows.shape[1] for rows in each]
    if neighbors == "replace":  # totals are public, and only what is orthogonal to them is measured
        bases = [np.linalg.svd(np.ones((1, size)))[2][1:] for size in sizes]
        changes = [
            [np.zeros(size), *(np.eye(size)[i] - np.eye(size)[j] for i, j in itertools.permutations(range(size), 2))]
            for size in sizes
        ]
    else:
        bases = [np.eye(size) for size in sizes]
        changes = [[np.zeros(size), *np.eye(size)] for size in sizes]
    dims = [len(basis) for basis in bases]
    precision = cp.Variable((sum(dims), sum(dims)), PSD=True)
    asked = np.zeros((sum(map(len, each)), sum(dims)))
    asked[: len(each[0]), : dims[0]] = each[0] @ bases[0].T
    asked[len(each[0]) :, dims[0] :] = each[1] @ bases[1].T
    moves = [
        np.concatenate([k * basis @ change for k, basis, change in zip(RECORDS.values(), bases, both, strict=True)])
        for both in itertools.product(*changes)
    ]
    limits = [cp.sum(cp.multiply(np.outer(move, move), precision)) <= 0.7 for move in moves]
    if not is_joint:
        limits.append(precision[: dims[0], dims[0] :] == 0)
    problem = cp.Problem(cp.Minimize(cp.matrix_frac(asked.T, precision)), limits)
    problem.solve(solver="CLARABEL")
    return float(problem.value)


@pytest.mark.parametrize(("neighbors", "is_joint"), [("add-remove", False), ("replace", False), ("replace", True)])
def test_the_plan_is_the_best_of_all_mechanisms_on_both_tables_stacked(neighbors, is_joint):
    plan = linked.select(TABLES, budget=BUDGET, neighbors=neighbors)
    assert plan.loss_value == pytest.approx(dense_sum(neighbors, is_joint=is_joint), rel=1e-5)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # it is, to a part in a thousand or so
def test_noise_that_tables_share_gains_what_the_manual_says():
    """Where records are added or removed, a difference of totals costs nothing for whoever has records in both."""
    plan = linked.select(TABLES, budget=BUDGET)
    gain = 1 - dense_sum("add-remove", is_joint=True) / plan.loss_value
    assert gain == pytest.approx(0.139, abs=0.002)


def dense_largest():
    """The least largest variance of a cell, likewise, with noise of its own for each table."""
    precisions, limits, largest = [], [], cp.Variable()
    for workload in (HOUSEHOLDS, PERSONS):
        rows = queries(workload)
        precisions.append(cp.Variable((rows.shape[1], rows.shape[1]), PSD=True))
        limits += [cp.matrix_frac(row, precisions[-1]) <= largest for row in rows]
    first, other = (k**2 * cp.max(cp.diag(each)) for k, each in zip(RECORDS.values(), precisions, strict=True))
    problem = cp.Problem(cp.Minimize(largest), [*limits, first + other <= 0.7])
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def test_the_largest_variance_over_both_tables_is_the_least_there_is():
    plan = linked.select(TABLES, budget=BUDGET, loss="max", gap=1e-7)
    assert plan.loss_value == pytest.approx(dense_largest(), rel=1e-4)
    assert {name: own.loss_value for name, own in plan.items()} == pytest.approx(
        dict.fromkeys(plan, plan.loss_value), rel=1e-6
    )


@given(
    tilt=st.floats(-0.9, 0.9),
    loss=st.sampled_from(["sum", "max"]),
    neighbors=st.sampled_from(["add-remove", "replace"]),
    weight=st.sampled_from([1.0, 0.01, 7.5]),
)
def test_no_other_split_of_the_budget_does_better(tilt, loss, neighbors, weight):
    weights = {"households": weight, "persons": 1.0}
    plan = linked.select(TABLES, budget=BUDGET, loss=loss, neighbors=neighbors, weights=weights)
    parts = [own.budget.pcost_exact for own in plan.values()]
    moved = Fraction(tilt) * min(parts)
    values = [
        weights[name]
        * rp.select(
            TABLES[name].workload,
            budget=rp.pcost(part + sign * moved),
            loss=loss,
            neighbors=neighbors,
            records_per_person=RECORDS[name],
        ).loss_value
        for name, part, sign in zip(plan, parts, (1, -1), strict=True)
    ]
    assert (max(values) if loss == "max" else sum(values)) >= plan.loss_value * (1 - 1e-5)


@given(budget=st.fractions(Fraction(1, 10**6), 100), loss=st.sampled_from(["sum", "max"]))
def test_what_all_tables_may_spend_is_never_more_than_the_budget(budget, loss):
    plan = linked.select(TABLES, budget=rp.pcost(budget), loss=loss)
    spent = sum(own.budget.pcost_exact for own in plan.values())
    assert budget * (1 - Fraction(1, 10**9)) <= spent <= budget
    assert sum(Fraction(own.pcost) for own in plan.values()) <= budget
    alone = rp.select(HOUSEHOLDS, budget=plan["households"].budget, loss=loss)
    assert plan["households"].loss_value == pytest.approx(alone.loss_value, rel=1e-9)


@pytest.mark.parametrize("loss", ["sum", "max"])
def test_the_least_budget_for_a_loss_is_that_at_which_the_plan_has_it(loss):
    wanted = linked.select(TABLES, budget=BUDGET, loss=loss).loss_value
    plan = linked.select(TABLES, at_most=wanted, loss=loss)
    assert plan.budget.pcost_exact == pytest.approx(BUDGET.pcost_exact, rel=1e-6)
    assert wanted * (1 - 1e-6) <= plan.loss_value <= wanted


def test_targets_of_each_table_are_met_and_their_costs_add_up():
    targets = {
        "households": rp.losses.Targets({("tenure",): 20}),
        "persons": rp.losses.Targets({("age",): 30, ("sex",): 25}),
    }
    plan = linked.select(TABLES, loss=targets)
    assert all(own.meets_targets for own in plan.values())
    alone = [
        rp.select(TABLES[name].workload, loss=targets[name], records_per_person=RECORDS[name]).budget for name in TABLES
    ]
    assert plan.budget.pcost_exact == pytest.approx(sum(each.pcost_exact for each in alone), rel=1e-6)
    half = linked.select(TABLES, loss=targets, budget=rp.pcost(plan.budget.pcost_exact / 2))
    assert half.loss_value == pytest.approx(math.sqrt(2), rel=1e-6)
    assert [own.loss_value for own in half.values()] == pytest.approx([math.sqrt(2)] * 2, rel=1e-6)


def test_a_plan_says_who_is_protected_and_how_the_budget_is_split():
    plan = linked.select(TABLES, budget=rp.zcdp("0.5"))
    assert repr(plan).startswith("<LinkedPlan for 'households' and 'persons': 0.5-zCDP: rho 0.5")
    limits = "up to 1 record in 'households' and up to 3 records in 'persons'"
    assert plan.claim.change == f"adding or removing all records of one 'serial', {limits}"
    assert plan.neighbors == rp.privacy.Neighbors("add-remove", 4)
    frame = plan.errors()
    assert list(frame["table"].unique()) == ["households", "persons"]
    assert len(frame) == len(HOUSEHOLDS) + len(PERSONS)
    assert sum(plan.parts.values()) == pytest.approx(1)


def test_what_cannot_be_planned_is_refused():
    mixed = {"households": "sum", "persons": "max"}
    for options, error, message in (
        ({"loss": mixed}, rp.errors.WorkloadError, "must be of one kind"),
        ({"loss": cp.sum}, rp.errors.WorkloadError, "says nothing of how to split"),
        ({"loss": {"households": "sum"}}, rp.errors.DomainError, "must be a mapping with an entry for each of"),
        ({"weights": {"households": 1, "persons": 0}}, rp.errors.BudgetError, "the weight of 'persons' must be"),
        ({"loss": rp.losses.Targets(9.0), "weights": {}}, rp.errors.WorkloadError, "targets say how much"),
        ({"at_most": 1.0}, rp.errors.BudgetError, "exactly one of budget= and at_most="),
    ):
        with pytest.raises(error, match=message):
            linked.select(TABLES, budget=BUDGET, **options)
    with pytest.raises(rp.errors.BudgetError, match="exactly one"):
        linked.select(TABLES)
    plan = linked.select(TABLES, budget=BUDGET)
    with pytest.raises(rp.errors.BudgetError, match="more than the budget together"):
        replace(plan, budget=rp.pcost("0.6"))
    with pytest.raises(rp.errors.BudgetError, match="protects other records of a unit"):
        replace(plan, plans={"households": plan["persons"], "persons": plan["households"]})

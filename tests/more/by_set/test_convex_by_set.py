"""Bases by set for convex losses: slopes, proofs, and the best of all mechanisms by a program that shares nothing."""

import math
from functools import partial

import cvxpy
import numpy as np
import pytest

import residualplanner as rp
from benchmarks.dense_optimum import workload
from random_plans import query_rows
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.more.by_set.convex_loss import ConvexVariances
from residualplanner.more.by_set.problem import by_set_problem
from residualplanner.more.by_set.search import Family
from residualplanner.more.convex.loss_function import read_loss_function
from slopes_by_set import require_right_slopes
from workloads_by_set import IDENTITY, ODD, PREFIX, RING, THREE, TINY


def norm(variances):
    return cvxpy.norm(variances, 4)


def squares(variances):
    return cvxpy.sum_squares(variances)


def log_sum_exp(variances):
    return cvxpy.log_sum_exp(variances)


def above(variances):
    """Twice the sum of what is above a limit, and a little of all: in proportion to nothing, and with kinks."""
    return 2 * cvxpy.sum(cvxpy.pos(variances - 1.5)) + 0.1 * cvxpy.sum(variances)


def largest(variances):
    return cvxpy.max(variances)


#: Few enough cells for a program over all mechanisms.
FEW = workload((4, 3), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}], [1, 2, 1])
SMOOTH = [norm, squares, log_sum_exp, above]


def value_of(plan, loss):
    """The loss of the average variances of a plan, in units of scales."""
    variances = cvxpy.Variable(len(plan.workload), value=plan.average_variances / plan.workload.scales**2)
    return float(loss(variances).value)


def least_of_all(plan, loss):
    """The least loss of all unbiased mechanisms of this cost: a program in the inverse covariance of all counts."""
    cells, cost = math.prod(plan.domain.sizes), float(plan.pcost)
    first, second = np.triu_indices(cells, 1)
    # What is known is in coordinates of counts, or where their number is public, of differences of counts.
    Z, neighbors = np.eye(cells), np.eye(cells)
    if plan.neighbors.has_public_total:
        Z = np.linalg.qr(np.column_stack([np.ones(cells), np.eye(cells)[:, 1:]]))[0][:, 1:]
        neighbors = np.eye(cells)[first] - np.eye(cells)[second]
    information = cvxpy.Variable((Z.shape[1],) * 2, PSD=True)
    averages = [
        sum(cvxpy.matrix_frac(row @ Z, information) for row in rows) / len(rows)
        for query in plan.workload
        for rows in [query_rows(plan.workload, query)]
    ]
    variances = cvxpy.Variable(len(averages))
    limits = [average <= variance for average, variance in zip(averages, variances, strict=True)]
    products = (neighbors @ Z)[:, :, None] * (neighbors @ Z)[:, None, :]
    limits.append(products.reshape(len(products), -1) @ cvxpy.vec(information, order="C") <= cost)
    problem = cvxpy.Problem(cvxpy.Minimize(loss(variances)), limits)
    problem.solve(solver="CLARABEL")
    return float(problem.value)


def planned(case, loss, **how):
    """A plan with one basis for each attribute, and the usual one."""
    select = partial(rp.select, case, loss=loss, **({"budget": rp.pcost(1)} | how))
    return select(bases="optimal"), select()


@pytest.mark.parametrize("loss", [*SMOOTH, largest])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.cases(3)
def test_slopes_are_differences(loss, weighed, neighbors):
    case = THREE
    plan = rp.select(case, budget=rp.pcost(2), loss=loss, neighbors=neighbors, bases="optimal")
    importance = 1 + np.arange(len(case)) / len(case)
    problem = by_set_problem(case, importance, is_sum=False, replaced=neighbors == "replace")
    function = read_loss_function(loss, len(case))
    family = Family.of(problem, lambda given: ConvexVariances(given, function, plan.loss_value, 2.0, []))
    start = family.start(
        ChosenNoise(plan.strategy, plan.noise_variances, plan.loss_value, plan.gap, plan.status).at(1 / 2)
    )
    # The cost at which the loss is that of the plan.
    assert math.exp(family.with_worst(start).value(start)) == pytest.approx(2, rel=1e-4)
    require_right_slopes(family, start, weighed=weighed)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.cases(1)
def test_plans_are_as_near_to_the_best_of_all_mechanisms_as_they_say(loss, neighbors):
    one, plan = planned(FEW, loss, neighbors=neighbors)
    least = least_of_all(plan, loss)
    for each in (one, plan):
        assert each.loss_value == pytest.approx(value_of(each, loss), rel=1e-9)
        assert least <= each.loss_value * (1 + 1e-6)
        # With variances smaller by the square of 1 plus the distance the loss is at most the least one.
        nearer = cvxpy.Variable(len(FEW), value=each.average_variances / (1 + each.suboptimality) ** 2)
        assert float(loss(nearer).value) <= least * (1 + 1e-6)
        assert each.gap < 1e-5
    assert plan.suboptimality < 0.008
    assert plan.loss_value <= one.loss_value
    assert plan.pcost <= 1


@pytest.mark.parametrize("case", [THREE, ODD, RING])
@pytest.mark.parametrize("loss", [squares, largest])
@pytest.mark.cases(1)
def test_no_plan_is_worse_than_with_one_basis_for_each_attribute_nor_costs_more(case, loss):
    one, plan = planned(case, loss)
    assert plan.loss_value <= one.loss_value * (1 + 1e-9)
    assert plan.loss_value == pytest.approx(value_of(plan, loss), rel=1e-9)
    limited = rp.select(case, at_most=one.loss_value, loss=loss)
    assert value_of(limited, loss) <= one.loss_value
    assert limited.pcost <= 1 + 1e-9


@pytest.mark.thorough
def test_a_sum_is_planned_as_the_built_in_one():
    _, plan = planned(TINY, lambda variances: variances @ TINY.weights)
    _, built_in = planned(TINY, rp.losses.SumOfVariances("equal"))
    assert plan.loss_value == pytest.approx(built_in.loss_value, rel=1e-4)
    assert plan.suboptimality == pytest.approx(built_in.suboptimality, abs=5e-4)


@pytest.mark.thorough
def test_where_the_largest_variances_are_equal_bases_are_found_and_no_distance_is_stated():
    one, plan = planned(FEW, largest)
    assert plan.loss_value < 0.999 * one.loss_value
    assert plan.gap < 1e-6
    assert least_of_all(plan, largest) <= plan.loss_value
    for each in (one, plan):
        assert each.suboptimality == math.inf
        assert "not known: the loss has a kink at the variances of the plan" in each.status


def test_amounts_are_in_units_of_their_scales():
    domain = rp.Domain({"age": 6, "sex": 2, "pay": rp.Attribute("pay", numeric=rp.Numeric(0, 1000, outside="clip"))})
    tables = [{"age": rp.Prefix(), "pay": rp.Sum()}, {"age": rp.Identity(), "sex": rp.Identity()}, ("age",)]
    one, plan = planned(rp.Workload(domain, tables), norm)
    assert plan.loss_value == pytest.approx(value_of(plan, norm), rel=1e-9)
    assert plan.loss_value < one.loss_value


@pytest.mark.parametrize(
    "loss",
    [lambda v: cvxpy.max(cvxpy.cummax(v)), lambda v: cvxpy.sum_squares(v - 9)],
)
def test_a_loss_without_slopes_or_that_falls_has_one_basis_for_each_attribute(loss):
    one, plan = planned(TINY, loss)
    assert not plan.strategy.varying.any()
    assert plan.loss_value == one.loss_value


def test_noise_of_a_set_that_no_query_needs_does_not_end_the_search():
    # its noise was 1e150 on the way, and its coefficient in the variances of a query -1e-18 by rounding
    answer = rp.Attribute("answer", labels=[True, False], missing="Not stated")
    domain = rp.Domain({"answer": answer, "b": 2, "c": 3})
    queries = [(), ("answer",), ("b", "c"), {"answer": rp.Hierarchy([2]), "b": rp.Identity()}]
    some = [rp.Among(query, {"b": [0]}) for query in ({"answer": rp.Prefix()}, rp.Threshold(("answer", "c"), 1))]
    workload, how = rp.Workload(domain, [*queries, *some]), {"loss": norm, "neighbors": "replace", "time": 0.1}
    shared, by_set = (
        rp.select(workload, budget=rp.pcost(1), bases=bases, **how) for bases in ("optimal", "optimal_by_set")
    )
    assert by_set.loss_value < 0.95 * shared.loss_value

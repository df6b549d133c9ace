"""Non-negative tables against a general solver, against arithmetic by hand, and by the laws that they must obey."""

import functools
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from made_releases import answers_of, any_release, exact_release, one_table
from nearest_tables import EXACT, marginals_of, nearest
from random_plans import noise_of, plan_by_set, plan_of, planned, query_rows, random_matrix, sample_workload
from residualplanner import Identity, Prefix
from strategies import names_of

FEW = settings(max_examples=25, deadline=None)


def freedoms_of(plan, weights, *, total="free"):
    factor = {"protect-margins": 30.0, "variance": 1.0, "order": 4.0}[weights]
    found = {}
    for members, variance in noise_of(plan).items():
        found[members] = (1.0 if weights == "order" else variance) * factor ** len(members)
    if total == "estimate":
        found[()] = 0.0
    return found


def unlike(release, scale=1.0, seed=0):
    """A release of other answers: some counts that are 0 and some that are not, with noise."""
    plan = release.plan
    chance = np.random.default_rng(seed)
    data = chance.poisson(0.7, plan.domain.sizes) * 3.0 + scale * chance.normal(size=plan.domain.sizes)
    return exact_release(plan, data)


@pytest.mark.parametrize(
    ("noise", "values", "total", "expected"),
    [
        ((3.0, 1.0), (5.0, 1.0, -1.5), "free", (5.0, 1.0, 0.0)),
        ((1.0, 1.0), (5.0, 1.0, -1.5), "free", (32 / 7, 4 / 7, 0.0)),
        ((1.0, 1.0), (5.0, 1.0, -1.5), "estimate", (4.25, 0.25, 0.0)),
        ((1.0, 1.0), (5.0, 1.0, 0.5), "estimate", (5.0, 1.0, 0.5)),  # as it is: no cell is negative
        ((1.0, 1.0), (-5.0, 3.0, 1.0), "estimate", (0.0, 0.0, 0.0)),  # of no records
        ((1.0, 1.0), (-5.0, 3.0, 1.0), "free", (0.0, 1.4, 0.0)),  # of some, where their number may move
    ],
)
def test_one_table_of_three_cells_is_that_of_arithmetic_by_hand(noise, values, total, expected):
    made = rp.nonnegative(one_table(values, noise), weights="variance", total=total)
    assert made["a"].estimate == pytest.approx(expected, abs=1e-9)
    assert ((made["a"].estimate == 0.0) == (np.array(expected) == 0.0)).all()
    assert made.numbers.steps == made.numbers.gap == 0 or min(values) < 0


def require_nearest(release, made, weights, *, total="free", rows=None, near=1e-4, **options):
    """That tables are those of a general solver, whose cells, by default of all marginals, are not negative."""
    plan = release.plan
    rows = marginals_of(plan, plan.closure).values() if rows is None else rows
    x, _ = nearest(plan, answers_of(release), freedoms_of(plan, weights, total=total), constraint_rows=rows, **options)
    for query in plan.workload:
        assert made[query].estimate.ravel() == pytest.approx(query_rows(plan, query) @ x, abs=near)


@FEW
@given(
    plan=planned(most_cells=48, smallest=2),
    weights=st.sampled_from(["protect-margins", "variance", "order"]),
    total=st.sampled_from(["estimate", "free"]),
    seed=st.integers(0, 1000),
)
def test_tables_are_those_of_a_general_solver(plan, weights, total, seed):
    release = unlike(any_release(plan), 2.0, seed)
    made = rp.nonnegative(release, weights=weights, total=total, gap=1e-9)
    if total == "estimate" and release[()].estimate <= 0:
        assert all(not table.estimate.any() for table in made.tables())
    else:
        require_nearest(release, made, weights, total=total)


@FEW
@given(seed=st.integers(0, 1000), weights=st.sampled_from(["protect-margins", "variance"]))
def test_tables_of_any_bases_are_those_of_a_general_solver(seed, weights):
    shape = (3, 4, 2)
    matrices = [random_matrix(n, n - 1, seed + n, most=2) for n in shape]
    queries = [{"a": Identity(), "b": Prefix()}, {"b": Identity(), "c": Identity()}]
    release = unlike(any_release(plan_of(shape, matrices, queries, seed)), 2.0, seed)
    require_nearest(release, rp.nonnegative(release, weights=weights, total="free", gap=1e-9), weights)


@pytest.mark.parametrize("seed", [0, 2, 5, 9, 13, 21, 26])
def test_tables_of_bases_by_set_are_those_of_a_general_solver(seed):
    plan = plan_by_set(sample_workload(), seed)
    release = unlike(any_release(plan), 2.0, seed)
    groups = {"b": [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]]} if plan.bases["b"].answers == 2 else {}
    kinds = [np.array(groups.get(name, np.eye(plan.domain[name].size))) for name in plan.domain.names]
    made = rp.nonnegative(release, gap=1e-9)
    require_nearest(release, made, "protect-margins", total="estimate", rows=[dense.product(kinds)], near=2e-4)


def test_a_problem_of_500_unknowns_is_solved_as_by_a_general_solver():
    domain = rp.Domain(dict(zip("abcd", (5, 5, 5, 4), strict=True)))
    release = unlike(any_release(rp.select(rp.marginals(domain, order=3), budget=rp.zcdp(0.05))), 3.0)
    rows = marginals_of(release.plan, [members for members in release.plan.closure if len(members) == 3]).values()
    made = rp.nonnegative(release, gap=1e-10)
    require_nearest(release, made, "protect-margins", total="estimate", rows=rows, near=1e-5, **EXACT)
    assert made.numbers.gap > 0


@FEW
@given(plan=planned(most_cells=48, smallest=2), seed=st.integers(0, 1000), steps=st.sampled_from([1, 50, 5000]))
def test_tables_are_non_negative_and_agree_whenever_the_solver_stops(plan, seed, steps):
    release = unlike(any_release(plan), 3.0, seed)
    made = rp.nonnegative(release, max_steps=steps)
    total = max(float(release[()].estimate), 0.0)
    for members in plan.closure:
        table = made[names_of(members)].estimate
        assert (table >= 0).all()
        assert float(table.sum()) == pytest.approx(total, rel=1e-9, abs=1e-9)
        for axis, _ in enumerate(members):
            smaller = made[names_of(members[:axis] + members[axis + 1 :])].estimate
            assert table.sum(axis=axis) == pytest.approx(smaller, abs=1e-9 * max(total, 1.0))


@FEW
@given(plan=planned(most_cells=48, smallest=2), seed=st.integers(0, 1000), steps=st.sampled_from([1, 50]))
def test_the_gap_that_is_stated_is_no_smaller_than_the_true_one(plan, seed, steps):
    release = unlike(any_release(plan), 3.0, seed)
    answers = answers_of(release)
    if answers[()] <= 0:
        return
    made = rp.nonnegative(release, max_steps=steps)
    rows, freedoms = marginals_of(plan, plan.closure), freedoms_of(plan, "protect-margins", total="estimate")
    _, least = nearest(plan, answers, freedoms, constraint_rows=rows.values())
    reached = 0.0
    for members, freedom in freedoms.items():
        table = made[names_of(members)].estimate.ravel()
        own = dense.product(dense.subtraction(plan.domain.sizes[i]) for i in members) @ table
        off, covariance = own - answers[members], dense.residual_covariance(plan.domain.sizes, members)
        if freedom:
            reached += float(off @ np.linalg.solve(covariance * freedom, off)) / 2
    assert reached <= least + made.numbers.gap * (1 + least) + 1e-6


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gap": 0.0}, rp.errors.BudgetError, "gap must be positive and finite"),
        ({"gap": float("nan")}, rp.errors.BudgetError, "gap must be positive and finite"),
        ({"max_steps": 0}, rp.errors.BudgetError, "max_steps must be positive"),
        ({"weights": "varianz"}, rp.errors.WorkloadError, "weights must be one of .* did you mean 'variance'"),
        ({"total": 30}, rp.errors.WorkloadError, 'total must be "estimate" or "free"'),
        ({"release": one_table((5.0, 1.0, -1.5)).measurement}, rp.errors.ArgumentError, "release must be a Release"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        rp.nonnegative(**{"release": one_table((5.0, 1.0, -1.5))} | options)


@functools.cache
def payroll(bins):
    """A plan for mean pay by job and sex, and by age, whose bins have noise of very different sizes; and records."""
    pay = rp.Numeric(0, 150_000, unit=100, bins=bins, outside="clip")
    domain = rp.Domain({"job": 5, "sex": ["F", "M"], "age": 4, "pay": pay})
    mean = {"pay": rp.Mean()}
    queries = [
        {"job": Identity(), "sex": Identity()} | mean,
        {"age": Identity()} | mean,
        ("job", "age"),
        ("pay", "sex"),
    ]
    plan = rp.select(rp.Workload(domain, [*queries, ("job", "sex")]), budget=rp.zcdp("0.5"))
    chance, number = np.random.default_rng(1), 3_000
    job, sex, age = (np.minimum(chance.geometric(p, number) - 1, most) for p, most in ((0.4, 4), (0.6, 1), (0.5, 3)))
    amounts = chance.lognormal(10.7, 0.5, number)
    frame = pd.DataFrame({"job": job, "sex": np.array(["F", "M"])[sex], "age": age, "pay": amounts})
    return rp.reconstruct(rp.measure(plan, frame, noise="gaussian", seed=2)), (job, sex, age)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "facts", [{}, {"known": {(): 3_000}}, {"impossible": [{"pay": "high end of [120000, 150000]"}]}]
)
def test_counts_beside_means_of_amounts_in_several_bins_are_the_nearest_ones(facts):
    noisy, (job, sex, _) = payroll(bins=5)
    made = rp.nonnegative(noisy, **facts)
    truth = np.histogram2d(job, sex, bins=[range(6), range(3)])[0]
    assert made.numbers.gap <= 1e-6
    assert all((table.estimate >= 0).all() for table in made.tables() if table.unit == "counts")
    assert (np.abs(made["job", "sex"].estimate - truth) < 6 * noisy["job", "sex"].std_err).all()


def test_tables_that_are_far_from_the_nearest_ones_are_refused(monkeypatch):
    monkeypatch.setattr("residualplanner.fits.nonnegative.ascent.MOST_CELLS", 0)
    monkeypatch.setattr(import_module("residualplanner.fits.nonnegative.nonnegative"), "_STEPS", 300)
    noisy, _ = payroll(bins=5)
    with pytest.raises(rp.errors.SolverError, match="the nearest non-negative tables were not found in 300 steps"):
        rp.nonnegative(noisy, max_steps=300)
    assert rp.nonnegative(noisy, max_steps=100).numbers.gap > 1


@pytest.mark.parametrize("seed", [2, 3, 5, 6])
def test_weights_by_order_do_not_depend_on_the_units_of_what_was_measured(seed):
    """Bases of rows of any numbers measure large multiples, whose components move by as much more."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(3, 6, 3)]
    rows = [np.vstack([np.ones(size), rng.normal(0, 1, (2, size)).round(2)]) for size in sizes]
    query = {"a": rp.Custom(rows[0]), "b": rp.Range(), "c": rp.Custom(rows[2])}
    plan = rp.select(rp.Workload(rp.Domain(dict(zip("abc", sizes, strict=True))), [query]), budget=rp.zcdp(0.01))
    records = np.random.default_rng(seed).integers(0, 2, (400, 3))
    release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))
    assert rp.nonnegative(release, weights="order").numbers.gap < 1e-5

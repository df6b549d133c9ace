"""Noise for given bases and kinds of any sort is the best there is, by brute force over all cells and by a solver."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from more.limits import limited
from random_plans import base_mechanism, basis_of, kind_of, plans, query_rows
from residualplanner import Domain, Workload, marginals, pcost, select
from residualplanner.method.strategy.cells import hull_rows
from residualplanner.method.workload.symmetry import Orbits

seeds = st.integers(0, 2**32 - 1)


def row_variance_factors(plan, weights):
    """For each query what every cell takes of each set's noise, times the query's weight, (cells, sets).

    From least squares with noise in one set at a time: the estimator does not depend on the noise, since answers are
    as many as unknowns.
    """
    parts = [base_mechanism(plan, members) for members in plan.closure]
    rows, ends = dense.stacked(parts)[0], np.cumsum([len(rows) for rows, _ in parts])[:-1]
    tables = []
    for query, weight in zip(plan.workload, weights, strict=True):
        estimator = np.linalg.lstsq(rows.T, query_rows(plan, query).T, rcond=1e-11)[0].T
        columns = [
            np.einsum("ci,ij,cj->c", part, covariance, part)
            for part, (_, covariance) in zip(np.split(estimator, ends, axis=1), parts, strict=True)
        ]
        tables.append(weight * np.column_stack(columns))
    return tables


def costs(plan):
    """What every set costs at unit noise."""
    return np.array([dense.privacy_cost(*base_mechanism(plan, members)) for members in plan.closure])


def solved(rows, variances, loss):
    """The least loss by a solver, where no row of costs comes to more than 1 and every set matters."""
    scale = rows.max(axis=0) * rows.shape[1]
    size = float((variances @ scale).max())
    unit = cvxpy.Variable(rows.shape[1])
    limits = [(rows / scale) @ cvxpy.inv_pos(unit) <= 1]
    problem = cvxpy.Problem(cvxpy.Minimize(loss((variances * scale / size) @ unit)), limits)
    problem.solve(solver="CLARABEL")
    return float(problem.value) * size


def perturbed(plan, p, seed):
    """Other noise of the same cost, near and far."""
    rng = np.random.default_rng(seed)
    tilts = [rng.normal(scale=spread, size=(50, p.size)) for spread in (1e-3, 0.05, 1.0)]
    others = plan.noise_variances * np.exp(np.concatenate(tilts))
    return others * (p / others).sum(axis=1, keepdims=True) / (p / plan.noise_variances).sum()


def mattering(plan):
    """Whether every set's noise reaches some answer; else a solver has nothing to hold it."""
    rows = np.vstack(row_variance_factors(plan, np.ones(len(plan.workload))))
    return bool((rows.max(axis=0) > 1e-9 * rows.max()).all())


cases = plans(most_cells=24, kind=kind_of).filter(mattering)


@pytest.mark.parametrize("all_rows", [2**20, 0])
@settings(max_examples=30)
@given(case=cases, seed=seeds)
def test_no_noise_of_the_same_cost_has_a_smaller_largest_cell(all_rows, case, seed):
    weights = np.random.default_rng(seed).uniform(0.2, 5, len(case.workload))
    with limited("method.noise.minimax_noise", _ALL_CELLS=all_rows):
        plan = select(case.workload, budget=pcost(1), loss=rp.losses.MaxVariance(weights), bases=case.bases, gap=1e-5)
    p, rows = costs(plan), np.vstack(row_variance_factors(plan, weights))
    assert plan.loss_value == pytest.approx((rows @ plan.noise_variances).max(), rel=1e-8)
    assert plan.gap <= 1e-5
    assert plan.status == "certified"
    assert plan.loss_value == pytest.approx(solved(p[None], rows, cvxpy.max), rel=3e-5)
    assert plan.loss_value / (1 + plan.gap) <= (perturbed(plan, p, seed) @ rows.T).max(axis=1).min() * (1 + 1e-9)


@given(case=cases)
def test_no_noise_of_the_same_cost_has_a_smaller_weighted_sum(case):
    plan = select(case.workload, budget=pcost(1), bases=case.bases)
    p, rows = costs(plan), np.vstack(row_variance_factors(plan, np.ones(len(plan.workload))))
    assert plan.loss_value == pytest.approx((rows @ plan.noise_variances).sum(), rel=1e-8)
    assert plan.loss_value == pytest.approx(np.sqrt(p * rows.sum(axis=0)).sum() ** 2, rel=1e-8)
    assert plan.gap == 0


PAIRED = {"sum": ("sum", cvxpy.sum), "max": ("max", cvxpy.max), "norm": (lambda v: cvxpy.norm(v, 4),) * 2}


@pytest.mark.cases(1)
@pytest.mark.parametrize("loss", sorted(PAIRED))
@settings(max_examples=15)
@given(case=plans(most_cells=24, smallest=2, kind=kind_of).filter(lambda case: len(case.closure) > 1).filter(mattering))
def test_noise_for_replaced_records_is_the_best_for_their_exact_cost_and_spends_all_of_the_budget(loss, case):
    wanted, function = PAIRED[loss]
    plan = select(case.workload, budget=pcost(1), loss=wanted, bases=case.bases, neighbors="replace")
    # What every set but the total costs at unit noise for every pair of records.
    pairs = [dense.pair_costs(*base_mechanism(plan, members)).ravel() for members in plan.closure if members]
    rows, tables = np.unique(np.column_stack(pairs), axis=0), row_variance_factors(plan, np.ones(len(plan.workload)))
    spent = float((rows @ (1 / plan.noise_variances[1:])).max())
    assert 1 - 1e-9 <= spent <= plan.pcost <= 1
    variances = {"sum": np.vstack(tables).sum(axis=0)[None], "max": np.vstack(tables)}.get(
        loss, np.array([table.mean(axis=0) for table in tables])
    )
    best = solved(rows, variances[:, 1:], function)
    assert plan.gap <= 2e-6
    assert plan.loss_value <= best * (1 + plan.gap) * (1 + 3e-6)
    assert best <= plan.loss_value * (1 + 3e-6)


def test_weights_reach_their_own_queries_where_orbits_stand_for_them():
    """Classes of attributes are numbered by basis, not in the order of the domain."""
    sizes, weights = {**{f"a{i}": 5 for i in range(4)}, **{f"b{i}": 2 for i in range(4)}}, [1] * 4 + [100] * 4
    workload, other = (
        Workload(Domain({name: sizes[name] for name in names}), [(name,) for name in names], of_names)
        for names, of_names in ((list(sizes), weights), ([*sizes][4:] + [*sizes][:4], weights[::-1]))
    )
    plan = select(workload, budget=pcost(1), loss="max")
    assert plan.loss_value == pytest.approx((plan.average_variances * workload.weights).max(), rel=1e-9)
    assert plan.loss_value == pytest.approx(select(other, budget=pcost(1), loss="max").loss_value, rel=2e-6)


SUMS = kind_of(np.tril(np.ones((3, 3))))
PAIRS = kind_of([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0]])
BASES = {"p": basis_of(3, [[1, 0, 0], [1, 1, 0]]), "m": basis_of(3, [[2, -1, 0], [1, 1, -3]])}


@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("notion", ["add-remove", "replace"])
@pytest.mark.parametrize("layout", ["pppp", "ppmm", "pmpm"])
@pytest.mark.cases(4)
def test_attributes_are_exchangeable_only_where_size_and_basis_and_kind_agree(loss, notion, layout):
    """With and without orbits: the same optimum, and one noise for each number of attributes of each sort."""
    names = [f"x{i}" for i in range(len(layout))]
    workload = marginals(Domain(dict.fromkeys(names, 3)), up_to=2, kinds={name: SUMS for name in names[1:]})
    bases = {name: BASES[letter] for name, letter in zip(names, layout, strict=True)}
    how = {"budget": pcost(1), "loss": loss, "bases": bases, "neighbors": notion, "gap": 1e-6}
    together = select(workload, **how)
    with limited("method.noise.noise_problem", workload_orbits=lambda workload, *_: Orbits.trivial(workload)):
        apart = select(workload, **how)
    assert together.loss_value == pytest.approx(apart.loss_value, rel=3e-6)
    assert together.max_variance >= together.loss_value * (1 - 1e-9) or loss == "sum"
    by_sort = {}
    for members, noise in together.noise_variance_of.items():
        key = tuple(sorted((layout[names.index(name)], name == "x0") for name in members))
        by_sort.setdefault(key, set()).add(round(noise, 9))
    assert all(len(found) == 1 for found in by_sort.values())
    assert len(by_sort) > len(workload.blocks)


def test_a_search_that_is_stopped_says_so_and_its_gap_is_honest():
    workload = marginals(Domain({"a": 3, "b": 3}), up_to=2, kinds={"a": SUMS, "b": PAIRS})
    how = {"budget": pcost(1), "loss": "max", "bases": dict.fromkeys("ab", BASES["m"])}
    with limited("method.noise.minimax_noise", _ALL_CELLS=0):
        fine = select(workload, **how, gap=1e-6)
        with limited("method.noise.minimax_noise", _CELL_ROUNDS=1):
            rough = select(workload, **how, gap=1e-9)
    assert "stopped with" in rough.status
    assert rough.gap > 1e-9
    assert rough.loss_value == pytest.approx(rough.max_variance, rel=1e-9)
    assert rough.loss_value / (1 + rough.gap) <= fine.loss_value * (1 + 1e-9)


points = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=30)


@given(points=points, scale=st.sampled_from([1e-12, 1.0, 1e12]))
def test_the_hull_has_the_largest_point_in_every_direction_and_no_point_too_many(points, scale):
    x, y = np.array(points, dtype=float).T * [[scale], [1 / scale]]
    right, high = hull_rows(x, y)
    assert set(zip(right, high, strict=True)) <= set(zip(x, y, strict=True))
    angles = np.linspace(0, np.pi / 2, 2001)
    directions = np.column_stack([np.cos(angles) / scale, np.sin(angles) * scale])
    values = directions @ [right, high]
    assert (values.max(axis=1) >= (directions @ [x, y]).max(axis=1) * (1 - 1e-12)).all()
    assert len(set(values.argmax(axis=1))) == len(right)


@given(seed=seeds)
def test_points_that_rounding_tells_apart_become_one(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(1, 2, (2, 3))
    noisy = [np.repeat(each, 5) * (1 + 1e-15 * rng.normal(size=15)) for each in (x, y)]
    assert len(hull_rows(*noisy)[0]) == len(hull_rows(x, y)[0])
    assert max(hull_rows(*noisy)[0]) == pytest.approx(x.max(), rel=1e-12)

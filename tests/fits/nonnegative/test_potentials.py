"""Potentials on the margins of tables: their dual problem, by explicit matrices, and where it does not apply."""

import numpy as np
import pytest

import dense
import residualplanner as rp
from made_releases import any_release, exact_release
from random_plans import plan_by_set, sample_workload
from residualplanner.fits.nonnegative.facts import Facts, read_facts
from residualplanner.fits.nonnegative.potentials import Agreement, facets_of, first_multipliers
from residualplanner.fits.nonnegative.problem import WEIGHTS, Statement

SHAPE = (4, 3, 5)
DOMAIN = rp.Domain(dict(zip("abc", SHAPE, strict=True)))
WORKLOADS = {
    "one table": rp.Workload(DOMAIN, [("a",)]),
    "pairs": rp.marginals(DOMAIN, order=2),
    "tables of different orders": rp.Workload(DOMAIN, [("a", "b"), ("c",)]),
    "a table of three attributes": rp.marginals(DOMAIN, order=3),
}


def problem_for(workload, *, weights="protect-margins", fixes_total=True, facts=None, seed=1):
    plan = rp.select(workload, budget=rp.zcdp("0.1"))
    data = np.random.default_rng(seed).normal(2, 3, SHAPE)
    data[3] -= 4
    data[:, :, 4] -= 4  # some counts are below 0 in tables of one attribute, too
    measurement = exact_release(plan, data).measurement
    facts = Facts() if facts is None else read_facts(plan, **facts)
    return Statement(facts, WEIGHTS[weights], fixes_total=fixes_total).problem(measurement)


def matrix_of(problem):
    """The map from components to cells, column by column."""
    units = np.eye(problem.start.size)
    return np.stack([problem.cells(unit, np.empty(problem.tables.size)).copy() for unit in units], axis=1)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("fixes_total", [True, False])
def test_multipliers_meet_the_conditions_of_the_nearest_tables(name, fixes_total):
    problem = problem_for(WORKLOADS[name], fixes_total=fixes_total)
    if facets_of(problem) is None:
        assert not fixes_total  # a free total moves more freely than tables in which few attributes are left out
        return
    multipliers = first_multipliers(problem, 1e-10)
    M = matrix_of(problem)
    cells = M @ (problem.start + problem.freedom * (M.T @ multipliers))
    assert (multipliers > 0).any()
    assert (multipliers >= 0).all()
    assert cells.min() > -1e-8
    assert abs(multipliers @ cells) < 1e-8


def test_the_gradient_is_that_of_the_value():
    problem = problem_for(WORKLOADS["pairs"])
    agreement = Agreement(problem, facets_of(problem))
    chance = np.random.default_rng(0)
    # margins of order 1 are of a, b and c, each in two tables; freedoms are about 1e4
    potentials = chance.normal(0, 1e-3, 2 * sum(SHAPE))
    here, step = agreement.at(potentials), 1e-7
    for direction in chance.normal(size=(5, potentials.size)):
        ahead, behind = (agreement.at(potentials + sign * step * direction).value for sign in (1, -1))
        assert here.gradient @ direction == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)


def test_the_curvature_of_facets_is_the_diagonal_by_explicit_matrices():
    problem = problem_for(WORKLOADS["a table of three attributes"])
    facets = facets_of(problem)
    freedoms = problem.freedom[problem.tables.layout.firsts]
    sets = list(problem.tables.plan.closure)
    whole = freedoms[sets.index((0, 1, 2))]
    expected = {}
    for facet in ((0, 1), (0, 2), (1, 2)):
        sizes = [SHAPE[i] for i in facet]
        total = np.zeros((np.prod(sizes), np.prod(sizes)))
        for members, freedom in zip(sets, freedoms, strict=True):
            if not set(members) <= set(facet) or not freedom:
                continue
            stiffness = 1 / freedom - 1 / (whole * np.prod([n for i, n in enumerate(SHAPE) if i not in members]))
            spread = dense.product(
                np.eye(n) - 1 / n if i in members else np.full((n, 1), 1 / n) for i, n in zip(facet, sizes, strict=True)
            )
            total += spread @ spread.T / stiffness
        expected[facet] = np.diag(total)
    for stack in facets.joint.stacks:
        for number, own in zip(stack.sets.tolist(), stack.per_table(facets.curvature), strict=True):
            assert own == pytest.approx(expected[sets[number]], rel=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"weights": "variance"},
        {"facts": {"known": {"a": [10, 5, 0, 3]}, "impossible": []}},
        {"facts": {"known": None, "impossible": [{"a": 0, "b": 1}]}},
    ],
    ids=["margins move as freely as tables", "a known table", "a cell that cannot occur"],
)
def test_where_potentials_do_not_apply_multipliers_are_0(options):
    problem = problem_for(WORKLOADS["pairs"], **options)
    assert not first_multipliers(problem, 1e-6).any()


def test_bases_that_vary_between_sets_have_no_potentials():
    release = any_release(plan_by_set(sample_workload(), 2))
    problem = Statement(Facts(), WEIGHTS["protect-margins"], fixes_total=True).problem(release.measurement)
    assert facets_of(problem) is None


def test_tables_are_those_that_the_ascent_finds_from_0(monkeypatch):
    plan = rp.select(WORKLOADS["pairs"], budget=rp.zcdp("0.1"))
    release = exact_release(plan, np.random.default_rng(3).normal(1, 4, SHAPE))
    fast = rp.nonnegative(release)
    assert fast.numbers.steps == 0
    monkeypatch.setattr(
        "residualplanner.fits.nonnegative.ascent.first_multipliers",
        lambda problem, off, **_: np.zeros(problem.tables.size),
    )
    slow = rp.nonnegative(release)
    assert slow.numbers.steps > 0
    for query in plan.workload:
        assert fast[query].estimate == pytest.approx(slow[query].estimate, abs=1e-6)


def test_the_start_keeps_to_the_most_steps_and_tells_of_each():
    problem, told = problem_for(WORKLOADS["pairs"]), []
    first_multipliers(problem, 1e-10, steps=2, report=lambda *now: told.append(now))
    assert [steps for steps, _ in told] == [0, 1]
    assert min(differ for _, differ in told) > 1e-10


def test_progress_of_non_negative_tables_begins_with_their_start():
    told = []
    plan = rp.select(WORKLOADS["pairs"], budget=rp.zcdp("0.1"))
    rp.nonnegative(
        exact_release(plan, np.random.default_rng(3).normal(1, 4, SHAPE)), progress=lambda *n: told.append(n)
    )
    assert len(told) > 2
    assert {most for _, most in told} == {5000}

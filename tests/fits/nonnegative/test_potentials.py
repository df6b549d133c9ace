"""Potentials on the margins of tables: their dual problem, by explicit matrices, and where it does not apply."""

import numpy as np
import pytest

import dense
import residualplanner as rp
from made_releases import any_release, exact_release
from nearest_tables import matrix_of, problem_for
from random_plans import plan_by_set, sample_workload
from residualplanner.fits.nonnegative.potentials import AgreementPoint, along, facets_of, first_multipliers

SHAPE = (4, 3, 5)
DOMAIN = rp.Domain(dict(zip("abc", SHAPE, strict=True)))
WORKLOADS = {
    "one table": rp.Workload(DOMAIN, [("a",)]),
    "pairs": rp.marginals(DOMAIN, order=2),
    "tables of different orders": rp.Workload(DOMAIN, [("a", "b"), ("c",)]),
    "a table of three attributes": rp.marginals(DOMAIN, order=3),
}


def problem_named(name, facts=(), **options):
    plan = rp.select(WORKLOADS[name], budget=rp.zcdp("0.1"))
    data = np.random.default_rng(1).normal(2, 3, SHAPE)
    data[3] -= 4
    data[:, :, 4] -= 4  # some counts are below 0 in tables of one attribute, too
    return problem_for(exact_release(plan, data), *facts, **options)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("fixes_total", [True, False])
def test_multipliers_meet_the_conditions_of_the_nearest_tables(name, fixes_total):
    problem = problem_named(name, fixes_total=fixes_total)
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


def test_a_step_that_is_too_long_is_halved_until_the_value_rises():
    def parabola(x):
        return AgreementPoint(x, -float(x @ x) / 2, -x, None)

    start = parabola(np.array([1.0, 2.0]))
    point, part = along(parabola, start, 40 * start.gradient, 12)
    assert part == 1 / 32  # beyond 2 / 40 the value falls
    assert point.value > start.value
    for step, halvings in ((40 * start.gradient, 3), (-start.gradient, 12)):
        assert along(parabola, start, step, halvings) == (start, 0.0)


def test_the_curvature_of_facets_is_the_diagonal_by_explicit_matrices():
    problem = problem_named("a table of three attributes")
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
    "problem",
    [
        lambda: problem_named("pairs", weights="variance"),
        lambda: problem_named("pairs", ({"a": [10, 5, 0, 3]}, [])),
        lambda: problem_named("pairs", (None, [{"a": 0, "b": 1}])),
        lambda: problem_for(any_release(plan_by_set(sample_workload(), 2))),
    ],
    ids=["margins move as freely as tables", "a known table", "a cell that cannot occur", "bases that vary"],
)
def test_where_potentials_do_not_apply_multipliers_are_0(problem):
    assert facets_of(problem()) is None
    assert not first_multipliers(problem(), 1e-6).any()


def test_the_start_keeps_to_the_most_steps_and_tells_of_each():
    problem, told = problem_named("pairs"), []
    first_multipliers(problem, 1e-10, steps=2, report=lambda *now: told.append(now))
    assert [steps for steps, _ in told] == [0, 1]
    assert min(differ for _, differ in told) > 1e-10

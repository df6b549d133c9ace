"""Potentials on the margins of tables: their dual problem, by explicit matrices, and where it does not apply."""

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import potentials
from made_releases import any_release, exact_release
from nearest_tables import matrix_of, problem_for
from random_plans import plan_by_set, sample_workload

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
    if potentials.facets_of(problem) is None:
        assert not fixes_total  # a free total moves more freely than tables in which few attributes are left out
        return
    multipliers = potentials.first_multipliers(problem, 1e-10)
    M = matrix_of(problem)
    cells = M @ (problem.start + problem.freedom * (M.T @ multipliers))
    assert (multipliers > 0).any()
    assert (multipliers >= 0).all()
    assert cells.min() > -1e-8
    assert abs(multipliers @ cells) < 1e-8


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
    assert potentials.facets_of(problem()) is None
    assert not potentials.first_multipliers(problem(), 1e-6).any()

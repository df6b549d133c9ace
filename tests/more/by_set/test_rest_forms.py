"""Mean squares of the answers to rest tables are found without the tables."""

import itertools

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.more.by_set import summed
from residualplanner.more.by_set.largest import RestTables, applied
from residualplanner.more.by_set.problem import by_set_problem
from residualplanner.more.by_set.summed import RestForms


def problem_of(order):
    """Sums of all sets of so many attributes, of which each is also alone and in counts of pairs."""
    domain = rp.Domain({name: size for name, size in zip("abcd"[:order], (3, 4, 2, 3), strict=False)})
    kinds = dict(zip("abcd", itertools.cycle([rp.Prefix(), rp.Range()]), strict=False))
    every = {name: kinds[name] for name in domain.names}
    single = [{name: kind} for name, kind in every.items()]
    workload = rp.Workload(domain, [every, *single, *itertools.combinations(domain.names, 2)])
    return by_set_problem(workload, np.ones(len(workload)))


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("at_once", [1, 2**18])
def test_forms_and_slopes_are_those_of_the_tables_with_all_their_entries(monkeypatch, order, at_once):
    monkeypatch.setattr(summed, "_AT_ONCE", at_once)
    problem, rng = problem_of(order), np.random.default_rng(order)
    grams = {i: axis.grams for i, axis in problem.axes.items()}
    groups = problem.attribute_of_group.tolist()
    us = [np.concatenate([[1.0], rng.normal(size=problem.axes[i].directions)]) for i in groups]
    forms = RestForms(problem.terms, groups, grams)
    found, products = forms.values(us)

    def explicit(us):
        rests = RestTables(problem.terms.rests, [u[1:] for u in us])
        alone = [u @ gram @ u for u, i in zip(us, groups, strict=True) for gram in grams[i]]
        tables = [(rests[number], problem.terms.rests[number], kinds) for number, kinds in problem.terms.forms]
        matrices = [
            [grams[i][kind] for i, kind in zip(rest.attributes, kinds, strict=True)] for _, rest, kinds in tables
        ]
        pairs = zip(tables, matrices, strict=True)
        return np.array([1.0, *alone, *(np.vdot(table, applied(each, table)) for (table, *_), each in pairs)])

    assert max(len(rest.groups) for rest in problem.terms.rests) == order
    np.testing.assert_allclose(found, explicit(us), rtol=1e-9)
    weights = rng.normal(size=len(found))
    slopes, group = forms.slopes(us, products, weights), len(us) - 1
    for at in range(1, len(us[group])):
        moved = [[u.copy() for u in us] for _ in range(2)]
        for each, step in zip(moved, (1e-6, -1e-6), strict=True):
            each[group][at] += step
        above, below = (float(weights @ explicit(each)) for each in moved)
        assert slopes[group][at] == pytest.approx((above - below) / 2e-6, rel=1e-5, abs=1e-6)

"""Bases of hierarchies from small problems: those of matrices, to the last digits, or within a bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from more.limits import limited
from random_plans import basis_of
from residualplanner import Domain, Hierarchy, Identity, Workload, measure, pcost, reconstruct, select
from residualplanner.more.searches.merged_grams import exchangeable_groups, merged_grams, merged_rows
from residualplanner.more.searches.optimal import optimal_residuals
from residualplanner.more.searches.tree import tree_of_rows
from residualplanner.more.searches.tree_grams import TreeGrams

ONE = pcost(1)


def of_sizes(sizes):
    """Domain and levels of a tree: lists of lists of numbers of leaves."""
    names = [[[f"{a}.{b}.{c}" for c in range(count)] for b, count in enumerate(inner)] for a, inner in enumerate(sizes)]
    upper = {f"s{a}": [f"c{a}.{b}" for b in range(len(inner))] for a, inner in enumerate(names)}
    lower = {f"c{a}.{b}": leaves for a, inner in enumerate(names) for b, leaves in enumerate(inner)}
    labels = [leaf for inner in names for leaves in inner for leaf in leaves]
    return Domain({"place": labels, "sex": 2}), [upper, lower]


trees = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=2, max_size=4).filter(
    lambda sizes: sum(map(sum, sizes)) > sum(map(len, sizes))
)
KINDS = (
    Hierarchy,
    lambda levels: Hierarchy(levels, leaves=False),
    lambda levels: Hierarchy([levels[1]], total=False),
    lambda levels: Identity(),
)


@st.composite
def problems(draw):
    """Kinds on one attribute whose rows are a tree, and how much each counts where the attribute is present, absent."""
    domain, levels = of_sizes(draw(trees))
    chosen = draw(st.lists(st.sampled_from(KINDS[1:]), unique=True, max_size=2))
    own = [kind(levels) for kind in [KINDS[0], *chosen]]
    own = [kind.on(domain["place"]) if hasattr(kind, "on") else kind for kind in own]
    weights = draw(st.lists(st.sampled_from([0.01, 0.3, 1.0, 5.0]), min_size=2 * len(own), max_size=2 * len(own)))
    return domain["place"].size, own, np.array(weights)


def dense_optimum(size, own, weights, *, fixed=False):
    """By the solver for matrices of n x n, with nothing merged."""
    grams = np.array([kind.augmented_gram(size) / kind.rows(size) for kind in own])
    present, absent = (np.tensordot(part, grams, axes=1) for part in np.split(weights, 2))
    if fixed:
        return optimal_residuals(present[1:, 1:], gap=1e-10, steps=600)
    return optimal_residuals(
        present[1:, 1:], absent[1:, 1:], linear=absent[0, 1:], constant=absent[0, 0], gap=1e-10, steps=600
    )


def tree_grams(size, own, most):
    """The kinds as a tree with at most so many members in a branch."""
    group = exchangeable_groups(own, size)
    rows = [merged_rows(kind, group) for kind in own]
    width, none = np.bincount(group).astype(float), np.empty((0, 0))
    codes, tree = tuple(range(len(own))), tree_of_rows(rows, most)
    return TreeGrams(len(group), codes, tuple(own), group, width, np.empty((0, 0, 0)), none, tuple(rows), tree)


@given(problem=problems(), fixed=st.booleans())
@settings(max_examples=8)
def test_the_problem_of_groups_has_the_optimum_of_all_values(problem, fixed):
    size, own, weights = problem
    forms = merged_grams(own, tuple(range(len(own))), exchangeable_groups(own, size))
    tangent, how = forms.tangent(weights), {"gap": 1e-10, "steps": 600}
    if fixed:
        found = tangent.best_orthogonal(forms.width / size, forms.directions, **how)
    else:
        found = tangent.best(forms.directions, **how)
    expected = dense_optimum(size, own, weights, fixed=fixed)
    assert found.bound / (1 - found.gap) == pytest.approx(expected.bound / (1 - expected.gap), rel=1e-9)
    if not fixed:
        assert forms.loss(weights, forms.exact(found)) == pytest.approx(expected.bound, rel=1e-8)


@given(problem=problems(), most=st.integers(2, 5))
@settings(max_examples=8)
def test_the_bound_of_a_tree_is_below_the_optimum_of_all_values_and_its_basis_above(problem, most):
    size, own, weights = problem
    forms = tree_grams(size, own, most)
    found, expected = forms.tangent(weights).best(None), dense_optimum(size, own, weights)
    loss = forms.loss(weights, forms.exact(found))
    assert found.bound * (1 - 1e-9) <= expected.bound / (1 - expected.gap)
    assert expected.bound * (1 - 1e-9) <= loss
    assert loss == pytest.approx(found.bound / (1 - found.gap), rel=1e-9)
    present, absent = forms.factors(found)
    assert weights @ [*present, *absent] == pytest.approx(loss, rel=1e-9)
    even, least = forms.tangent(weights).best_orthogonal(forms.width / size, None), dense_optimum(*problem, fixed=True)
    assert even.bound * (1 - 1e-9) <= least.bound / (1 - least.gap)


def test_the_basis_of_a_regular_tree_is_the_best_there_is():
    domain, levels = of_sizes([[3, 3], [3, 3], [3, 3]])
    own = [Hierarchy(levels).on(domain["place"])]
    forms = tree_grams(18, own, 3)
    assert len(forms.tree.branches) == 2
    found = forms.tangent(np.array([1.0, 0.1])).best(None, gap=1e-9)
    assert found.gap < 1e-7
    assert found.bound == pytest.approx(dense_optimum(18, own, np.array([1.0, 0.1])).bound, rel=1e-7)


DOMAIN, LEVELS = of_sizes([[2, 5], [3], [4, 1, 6], [2, 2]])
WHOLE = Hierarchy(LEVELS).on(DOMAIN["place"])
QUERIES = [
    {"place": WHOLE, "sex": Identity()},
    {"place": Hierarchy(LEVELS, leaves=False)},
    {"place": Identity()},
    ["sex"],
    [],
]
SEVERAL = Workload(DOMAIN, QUERIES, weights=[1.0, 3.0, 0.5, 2.0, 1.0])


def merged(workload, **how):
    """The plan with merged values, which are for attributes of many."""
    with limited("more.searches.tree_grams", MERGED_ABOVE=4):
        return select(workload, budget=ONE, **{"bases": "optimal"} | how)


@pytest.mark.parametrize(
    ("workload", "how", "near"),
    [
        (SEVERAL, {}, 1e-4),
        (SEVERAL, {"bases": "orthogonal"}, 1e-4),
        (SEVERAL, {"neighbors": "replace"}, 1e-3),
        (Workload(DOMAIN, QUERIES[:1]), {"loss": "max"}, 1e-4),
    ],
)
def test_plans_with_merged_values_are_as_good_as_with_matrices(workload, how, near):
    plan = merged(workload, **how)
    assert plan.strategy.of_attributes[0].multipliers == ()  # nested
    assert plan.loss_value == pytest.approx(
        select(workload, budget=ONE, **{"bases": "optimal"} | how).loss_value, rel=near
    )


def test_plans_with_blocks_are_near_those_with_matrices():
    with limited("more.searches.tree_grams", _MOST_FOR_SUM=2, _MOST_MEMBERS=4):
        plan = merged(SEVERAL)
    basis, least = plan.strategy.of_attributes[0], select(SEVERAL, budget=ONE, bases="optimal").loss_value
    assert basis.multipliers == ()
    assert least * (1 - 1e-5) <= plan.loss_value <= least * 1.002
    assert 0 < basis.gap < 0.05


def test_a_release_is_that_of_the_matrix_written_out(tmp_path):
    nested = merged(SEVERAL)
    nested.save(tmp_path / "plan")
    again = rp.load_plan(tmp_path / "plan")
    basis = nested.strategy.of_attributes[0]
    assert again.strategy.of_attributes[0].key == basis.key
    assert again.rmse == nested.rmse
    dense = select(SEVERAL, budget=ONE, bases={"place": basis_of(basis.size, basis.matrix)})
    data = np.random.default_rng(0).integers(0, (DOMAIN["place"].size, 2), (500, 2))
    releases = [reconstruct(measure(plan, data, noise="gaussian", seed=3)) for plan in (nested, again, dense)]
    for query in QUERIES:
        first, second, third = (release[query] for release in releases)
        assert np.array_equal(first.estimate, second.estimate)
        assert np.allclose(first.estimate, third.estimate, rtol=1e-9, atol=1e-6)
        assert np.allclose(nested.variance(query), dense.variance(query), rtol=1e-9)
        assert np.allclose(nested.covariance(query), dense.covariance(query), rtol=1e-8, atol=1e-9)


def test_exact_noise_has_the_variance_that_the_plan_says():
    plan = merged(SEVERAL)
    data = np.random.default_rng(1).integers(0, (DOMAIN["place"].size, 2), (900, 2))
    counts = np.zeros((DOMAIN["place"].size, 2))
    np.add.at(counts, tuple(data.T), 1)
    true = WHOLE.matrix(DOMAIN["place"].size) @ counts
    errors = [reconstruct(measure(plan, data))[QUERIES[0]].estimate - true for _ in range(60)]
    assert 0.8 < np.mean([error**2 / plan.variance(QUERIES[0]) for error in errors]) < 1.2


def test_bases_by_set_stay_matrices():
    domain, levels = of_sizes([[20, 20], [20, 20, 20]])
    plan = select(Workload(domain, [{"place": Hierarchy(levels)}]), budget=ONE, bases="optimal_by_set")
    assert plan.strategy.of_attributes[0].multipliers


@pytest.mark.slow
def test_groups_that_overlap_are_refused_where_matrices_would_be_too_large():
    workload = Workload(Domain({"place": 10_080}), [{"place": Hierarchy([7])}, {"place": Hierarchy([5])}])
    with pytest.raises(rp.errors.WorkloadError, match="inside one another"):
        select(workload, budget=ONE)


@pytest.mark.slow
def test_a_hierarchy_of_many_values_is_planned_measured_and_published():
    query = {"place": Hierarchy([840, 84, 4]), "sex": Identity()}
    plan = select(Workload(Domain({"place": 10_080, "sex": 2}), [query]), budget=ONE)
    basis = plan.strategy.of_attributes[0]
    assert basis.answers == 10_079
    assert basis.gap < 1e-4  # it is regular
    release = reconstruct(measure(plan, np.random.default_rng(2).integers(0, (10_080, 2), (1000, 2))))
    estimate = release[query].estimate
    assert np.allclose(estimate[0], estimate[1:13].sum(axis=0))

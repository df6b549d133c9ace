"""The accuracy of plans with bases of every sort is that of explicit matrices, and changes with bases alone."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from kinds import kinds_of
from more.limits import limited
from random_plans import (
    as_mapping,
    basis_of,
    kind_of,
    plan_by_hand,
    plan_by_set,
    plans,
    plans_by_set,
    sample_workload,
    spanned_kinds,
    table_covariance,
    tells_more_than_total,
)
from residualplanner import Custom, Domain, Identity, Prefix, Range, Workload, marginals, pcost, select
from residualplanner.method.strategy.costs import cost_parts
from residualplanner.more.bounds.max_abs_error import mean_max_bound

seeds = st.integers(0, 10**6)
SAMPLE = plan_by_set(sample_workload(), 1)
NOT_ANSWERED = "the basis of 'b' has 2 answers, from which identity does not follow"
every_plan = plans(most_cells=24, kind=kind_of) | plans_by_set()


def shape_of(plan, query):
    return tuple(kind.rows(plan.domain[name].size) for name, kind in as_mapping(query).items())


def require_summaries(plan, cells, rtol):
    """What a plan tells of all its tables is what the variances of each table's ``cells`` say."""
    every = np.concatenate(cells)
    np.testing.assert_allclose(plan.average_variances, [found.mean() for found in cells], rtol=rtol)
    np.testing.assert_allclose(plan.max_variances, [found.max() for found in cells], rtol=rtol)
    np.testing.assert_allclose(plan.max_variance, every.max(), rtol=rtol)
    np.testing.assert_allclose(plan.rmse, math.sqrt(every.mean()), rtol=rtol)
    table = plan.errors()
    np.testing.assert_allclose(table["std_err"], [math.sqrt(found.mean()) for found in cells], rtol=rtol)
    np.testing.assert_allclose(table["max_std_err"], [math.sqrt(found.max()) for found in cells], rtol=rtol)
    mean = [math.sqrt(2 / math.pi) * np.sqrt(np.maximum(found, 0)).mean() for found in cells]
    np.testing.assert_allclose(table["expected_abs_error"], mean, rtol=1e-6)
    largest = [mean_max_bound(np.sort(np.sqrt(found)), np.ones(len(found))) for found in cells]
    np.testing.assert_allclose(table["expected_max_abs_error"], largest, rtol=1e-6)
    assert [plan.expected_max_abs_error(query) for query in plan.workload] == pytest.approx(largest, rel=1e-6)
    np.testing.assert_array_equal(table["cells"], [len(found) for found in cells])
    np.testing.assert_allclose(table["privacy_share"].sum(), 1)


def require_table(plan, query, rng):
    """What a plan tells of a table, cell by cell, against explicit matrices."""
    expected, shape = table_covariance(plan, query), shape_of(plan, query)
    near = {"rtol": 1e-7, "atol": 1e-9 * np.abs(expected).max()}
    np.testing.assert_allclose(plan.covariance(query), expected, **near)
    np.testing.assert_allclose(plan.variance(query), np.diag(expected).reshape(shape), **near)
    weights = rng.integers(-9, 10, len(expected)).astype(float)
    found = plan.combination_variance(query, weights.reshape(shape))
    assert found == pytest.approx(weights @ expected @ weights, rel=1e-7, abs=near["atol"] * (weights @ weights))


@settings(max_examples=50)
@given(plan=every_plan, seed=seeds)
def test_tables_stacks_and_summaries_are_those_of_least_squares_with_explicit_matrices(plan, seed):
    for query in plan.workload:
        require_table(plan, query, np.random.default_rng(seed))
    require_stacks(plan)
    require_summaries(plan, [np.diag(table_covariance(plan, query)) for query in plan.workload], 1e-7)


@settings(max_examples=75)
@given(plan=every_plan, data=st.data())
def test_any_part_of_a_query_has_tables_in_every_kind_planned_for_or_not(plan, data):
    query = data.draw(st.sampled_from(list(map(as_mapping, plan.workload))))
    chosen = sorted(data.draw(st.sets(st.sampled_from(sorted(query)))) if query else [])
    other = {
        name: data.draw(spanned_kinds(plan.bases[name], kind_of) | rowspace_kinds(plan.bases[name])) for name in chosen
    }
    require_table(plan, other, np.random.default_rng(data.draw(seeds)))


def rowspace_kinds(basis):
    """Any kind where values can be told apart."""
    if basis.answers < basis.size - 1:
        return st.nothing()
    return kinds_of(basis.size).filter(lambda found: tells_more_than_total(found[1])).map(lambda found: found[0])


@pytest.mark.parametrize("bases", ["orthogonal", "by set"])
def test_variances_of_stacked_tables_of_the_same_kinds_are_not_mixed_up(bases):
    """All sets have another noise; sets of one shape have bases that differ."""
    domain = Domain({"a": 3, "b": 3, "c": 3, "d": 3})
    queries = [{x: Prefix(), y: Identity()} for x, y in itertools.combinations("abcd", 2)]
    workload = Workload(domain, [*queries, {"b": Prefix()}, {"c": Prefix()}], weights=[1, 2, 1, 4, 1, 3, 9, 1])
    plan = plan_by_set(workload, 2) if bases == "by set" else select(workload, budget=pcost(1), bases=bases)
    noise = plan.noise_variances * (1 + np.random.default_rng(0).permutation(len(plan.closure)) / 3)
    assert require_stacks(replace(plan, noise_variances=noise, budget=pcost("1e300"))) == 6


def require_stacks(plan):
    """The most tables of a stack."""
    stacks = {}
    for query in plan.workload:
        pairs = sorted((plan.domain.names.index(name), kind) for name, kind in as_mapping(query).items())
        by_name = {plan.domain.names[number]: kind for number, kind in pairs}
        kinds = tuple(kind for _, kind in pairs)
        stacks.setdefault((kinds, shape_of(plan, by_name)), []).append(([number for number, _ in pairs], by_name))
    for (kinds, shape), tables in stacks.items():
        tables.reverse()
        attributes = np.array([numbers for numbers, _ in tables], dtype=np.int32).reshape(len(tables), len(kinds))
        found = plan.accuracy.stacked_variances(attributes, kinds)
        for variances, (_, by_name) in zip(found, tables, strict=True):
            expected = np.diag(table_covariance(plan, by_name)).reshape(shape)
            np.testing.assert_allclose(variances, expected, rtol=1e-7, atol=1e-9 * expected.max())
    return max(map(len, stacks.values()))


@given(plan=plans_by_set())
def test_shares_of_the_cost_are_split_by_what_queries_take_of_the_noise(plan):
    """Set by set: a mean of the costs of its cells, and the sums of variances that its noise is in."""
    sums = plan.average_variances * plan.workload.cells * plan.workload.weights
    amounts = np.empty((len(plan.noise_variances), len(sums)))
    for number, amount in enumerate(amounts):
        less = plan.noise_variances.copy()
        less[number] /= 2
        halved = replace(plan, noise_variances=less, budget=pcost("1e300"))
        amount[:] = sums - halved.average_variances * plan.workload.cells * plan.workload.weights
    use = amounts.sum(axis=1) / plan.noise_variances
    parts = cost_parts(plan.strategy, plan.noise_variances, use, plan.neighbors)
    for members, variance, part in zip(plan.strategy.closure, plan.noise_variances.tolist(), parts, strict=True):
        lengths = [
            [column_cost(plan.strategy.basis(members, i), x) for x in range(plan.domain.sizes[i])] for i in members
        ]
        costs = [math.prod(cell) / variance for cell in itertools.product(*lengths)]
        assert min(costs) * (1 - 1e-9) <= part <= max(costs) * (1 + 1e-9)
    shares = parts @ (amounts / amounts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(plan.errors()["privacy_share"], shares / shares.sum(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.cases(1)
def test_shares_of_the_cost_are_those_of_the_loss_where_noise_is_best(seed):
    """What the noise of each set costs and what it does to the loss are in proportion at the least sum of variances."""
    plan = select(mixed_workload(seed), budget=pcost(1), bases="optimal_by_set")
    assert plan.strategy.varying.any()
    loss = plan.average_variances * plan.workload.cells * plan.workload.weights
    np.testing.assert_allclose(plan.errors()["privacy_share"], loss / loss.sum(), atol=2e-3)
    use = loss_weights(plan)
    parts = cost_parts(plan.strategy, plan.noise_variances, use, plan.neighbors)
    assert parts.sum() == pytest.approx(1, abs=2e-3)
    # Noise that is within 1e-6 of the best has parts within about the root of that.
    np.testing.assert_allclose(parts, use * plan.noise_variances / (use @ plan.noise_variances), atol=4e-3)


def loss_weights(plan):
    """By how much the sum of variances grows with the noise of each set."""

    def loss(noise):
        found = replace(plan, noise_variances=noise, budget=pcost("1e300"))
        return found.average_variances @ (plan.workload.cells * plan.workload.weights)

    noise = plan.noise_variances
    return np.array(
        [(loss(noise + np.eye(len(noise))[i] * noise[i]) - loss(noise)) / noise[i] for i in range(len(noise))]
    )


def mixed_workload(seed):
    rng = np.random.default_rng(seed)
    domain = Domain({name: int(rng.integers(3, 8)) for name in "abc"})
    kinds = [Identity(), Prefix(), Range()]
    queries = [{name: Prefix()} for name in "abc"]
    queries += [{x: kinds[rng.integers(3)], y: Identity()} for x, y in itertools.combinations("abc", 2)]
    return Workload(domain, queries, weights=rng.integers(1, 5, len(queries)))


def column_cost(basis, value):
    if basis.matrix is None:
        return (basis.size - 1) / basis.size
    return float((basis.matrix[:, value] ** 2).sum())


@pytest.mark.parametrize("chunk", [1, 7, 50])
def test_tables_may_be_worked_on_in_parts(chunk):
    again = replace(SAMPLE).accuracy
    with limited("method.strategy.accuracy", CHUNK=chunk), limited("method.strategy.cells", _CHUNK=chunk):
        for name in ("average_variances", "max_variances", "mean_std_errs", "max_abs_errors", "privacy_shares"):
            np.testing.assert_allclose(getattr(again, name), getattr(SAMPLE.accuracy, name), rtol=1e-12)


def test_queries_of_one_sort_are_computed_together():
    domain = Domain({**{f"x{i}": 4 for i in range(8)}, **{f"y{i}": 3 for i in range(6)}})
    workload = marginals(domain, up_to=3) + marginals(domain, order=1, kinds={f"x{i}": Prefix() for i in range(8)})
    closure = workload.closure
    matrices = ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]])
    bases = (*(basis_of(4, matrix) for matrix in matrices), basis_of(3, None))
    of_place = [2 if i >= 8 else len(members) % 2 for members in closure for i in members]
    count = 4 * sum(i < 8 for members in closure for i in members if len(members) > 1)
    by_set = rp.strategies.varying_strategy(closure, domain.sizes, bases, of_place, np.zeros(count))
    noise = np.random.default_rng(0).lognormal(size=len(closure))
    found = plan_by_hand(workload, by_set, noise).accuracy
    assert np.isfinite(found.average_variances).all()
    sorts = {1: ["x", "x in prefix sums"], 2: ["xx", "xy"], 3: ["xxx", "xxy", "xyy"]}  # y alone has one basis
    assert len(found._tables.tables) == sum(map(len, sorts.values()))
    for number in (0, 3, 40, len(workload) - 1):
        part = workload.take([number])
        kept = np.concatenate([closure.positions_of(block) for block in part.closure.blocks])
        alone = plan_by_hand(part, by_set.part(part.closure), noise[kept])
        assert found.average_variances[number] == pytest.approx(alone.average_variances[0], rel=1e-12)
        assert found.max_variances[number] == pytest.approx(alone.max_variances[0], rel=1e-12)


class NeverApplied(Range):
    """Ranges of which no array is made."""

    apply = None


def test_average_variances_of_ranges_need_no_array_of_all_ranges():
    plans = []
    for kind in (Range, NeverApplied):
        queries = [{"a": kind(), "b": kind(), "c": Identity()}, {"a": Prefix(), "b": kind()}]
        workload = Workload(Domain({"a": 4, "b": 3, "c": 5}), queries)
        plans.append(plan_by_set(workload, 3) if not plans else replace(plans[0], workload=workload))
    means = [plans[0].variance(query).mean() for query in plans[0].workload]
    np.testing.assert_allclose(plans[1].average_variances, means, rtol=1e-10)


def test_a_single_value_and_a_query_of_no_attributes_have_tables_too():
    domain = Domain({"a": 3, "one": 1})
    workload = Workload(
        domain, [(), {"one": Custom([[1], [2]])}, {"a": Prefix(), "one": Custom([[1], [2]])}, {"a": Range()}]
    )
    plan = plan_by_set(workload, 5)
    for query in workload:
        require_table(plan, query, np.random.default_rng(0))


def test_what_is_not_measured_is_refused():
    more = SAMPLE.workload + Workload(SAMPLE.domain, [("b",)])
    for refused in (
        lambda: SAMPLE.variance(("b", "c")),
        lambda: SAMPLE.covariance(("b", "c")),
        lambda: SAMPLE.combination_variance(("b", "c"), np.ones((4, 3))),
        lambda: replace(SAMPLE, workload=more),
    ):
        with pytest.raises(rp.errors.WorkloadError, match=NOT_ANSWERED):
            refused()
    apart = plan_by_set(Workload(SAMPLE.domain, [{"a": Prefix()}, ("c",)]))
    with pytest.raises(rp.errors.WorkloadError, match=r"the plan does not answer \('a', 'c'\): add it to the workload"):
        apart.variance(("a", "c"))


def test_a_table_too_large_to_hold_is_refused():
    query = {"a": Prefix(), "b": Identity(), "c": Identity()}
    plan = plan_by_set(Workload(Domain({"a": 4, "b": 300, "c": 300}), [query]))
    with pytest.raises(rp.errors.WorkloadError, match="the covariance of 360,000 cells"):
        plan.covariance(query)
    with pytest.raises(rp.errors.WorkloadError, match=r"a table of 8,154,090,000 cells; errors\(\) has"):
        plan.variance({"a": Prefix(), "b": Range(), "c": Range()})
    weights = np.zeros((4, 300, 300))
    weights[1, 2, 3] = 2
    assert plan.combination_variance(query, weights) == pytest.approx(4 * plan.variance(query)[1, 2, 3])


def test_combinations_by_set_lose_no_digits_to_constants_of_rows():
    """Dates on two attributes that vary: what is measured has an inverse, so all variances are sums of fractions."""
    chance, sizes, members = np.random.default_rng(8), (4, 3), [(), (0,), (1,), (0, 1)]
    of_factor = [basis_of(n, chance.integers(-9, 10, (n - 1, n))) for n in (4, 3, 4, 3)]
    matrices = {((0,), 0): 0, ((1,), 1): 1, ((0, 1), 0): 2, ((0, 1), 1): 3}
    kinds = [Custom([[1] * n, *(20_240_101 + chance.normal(size=(3, n)))]) for n in sizes]
    workload = Workload(Domain({"a": 4, "b": 3}), [{"a": kinds[0], "b": kinds[1]}])
    strategy = rp.strategies.varying_strategy(workload.closure, sizes, of_factor, range(4), np.zeros(7))
    noise = np.array([3.0, 1.0, 2.0, 5.0])
    plan, query = plan_by_hand(workload, strategy, noise), {"a": kinds[0], "b": kinds[1]}
    rows, scales = [], []
    for number, inside in enumerate(members):
        each = [of_factor[matrices[inside, i]].matrix if i in inside else np.ones((1, sizes[i]), int) for i in (0, 1)]
        rows += np.kron(*each).tolist()
        scales += [Fraction(noise[number])] * len(each[0]) * len(each[1])
    inverse = dense.exact_inverse(rows)
    W = np.kron(*[np.vectorize(Fraction)(kind.matrix(size)) for kind, size in zip(kinds, sizes, strict=True)])
    exact = W @ np.array(inverse, dtype=object)
    covariance = (exact * np.array(scales)) @ exact.T
    found = plan.covariance(query)
    for i, j in np.ndindex(found.shape):
        assert abs(Fraction(found[i, j]) / covariance[i, j] - 1) < 1e-12
    differences = [(0.0, 1.0, -1.0, 0.0), (0.0, 1.0, -2.0, 1.0), (1.0, 0.0, 0.0, 0.0)]
    for first, second in itertools.product(differences, repeat=2):
        weights = np.multiply.outer(first, second)
        exactly = np.vectorize(Fraction)(weights.ravel())
        expected = exactly @ covariance @ exactly
        assert abs(Fraction(plan.combination_variance(query, weights)) / expected - 1) < 1e-12


def test_noise_that_no_query_uses_takes_no_part_in_the_privacy_shares():
    some = rp.Among(("c", "b"), where={"c": [1]})
    plan = select(Workload(Domain({"c": 3, "b": 3}), [(), some]), budget=pcost(1), bases="optimal_by_set")
    shares = plan.errors()["privacy_share"]
    total = 1 / plan.noise_variances[0]
    assert shares[0] < total  # the other query uses the total, too
    assert shares.sum() == pytest.approx(1)

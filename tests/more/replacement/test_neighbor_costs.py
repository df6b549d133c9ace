"""The cost of replacing records is what explicit matrices say for every pair of records, and is never understated."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from more.limits import limited
from random_plans import basis_of
from residualplanner import Domain, marginals
from residualplanner.method.strategy.costs import cost_upper_bound, with_token_cost
from residualplanner.more.replacement.replacement_costs import ReplacementCosts
from strategies import Case, cases

REPLACE = rp.privacy.Neighbors("replace")
seeds = st.integers(0, 2**32 - 1)


def random_noise(workload, seed):
    return np.random.default_rng(seed).lognormal(size=len(workload.closure))


def pairwise(case, noise):
    """The cost of every pair of records, (cells, cells)."""
    sets = list(case.workload.closure)
    return sum(
        dense.replacement_costs(case.sizes, members) / s for members, s in zip(sets, noise.tolist(), strict=True)
    )


def costs_of(case):
    return ReplacementCosts(case.workload.closure, [basis_of(size, None) for size in case.sizes], 1)


@settings(max_examples=100)
@given(case=cases(), seed=seeds)
def test_the_pair_of_records_that_costs_the_most_is_found_and_bounded(case, seed):
    closure, noise = case.workload.closure, random_noise(case.workload, seed)
    costs, expected = costs_of(case), pairwise(case, noise)
    exact, worst = float(expected.max()), costs.worst(noise)
    assert worst.cost == pytest.approx(exact, rel=1e-11, abs=1e-11)
    found = costs.rows(worst.ways) @ (1 / noise)
    assert found.max(initial=0) == pytest.approx(exact, rel=1e-11, abs=1e-11)
    assert all(np.isclose(expected, each, rtol=1e-10, atol=1e-11).any() for each in found)
    # The sum of the largest costs of all sets is at most as much more as is proved.
    sets = [dense.replacement_costs(case.sizes, members).max() for members in closure]
    np.testing.assert_allclose(costs.largest, sets, rtol=1e-12, atol=1e-12)
    bound = float(costs.largest @ (1 / noise))
    added = dense.exact_cost(case.sizes, dict(zip(closure, noise.tolist(), strict=True)))
    fewest = min((n for n in case.sizes if n > 1), default=2)
    assert exact * (1 - 1e-12) <= bound <= 4 * float(added) * (1 + 1e-12)
    assert bound <= exact * fewest / (fewest - 1) * (1 + 1e-12) + 1e-11


@st.composite
def bases_of_integers(draw):
    """One to three attributes with any columns, some of them the same, and two that can be exchanged often."""
    chance = np.random.default_rng(draw(seeds))
    count, size, found = draw(st.integers(1, 3)), draw(st.integers(2, 4)), []
    while len(found) < count:
        B = chance.integers(-3, 4, (size - 1, size))
        if abs(np.linalg.det(np.vstack([np.ones(size), B]))) > 0.5:
            found += [basis_of(size, B)] * draw(st.integers(1, 2))
    return found[:count]


@settings(max_examples=60)
@given(bases=bases_of_integers(), up_to=st.integers(1, 3), seed=seeds, is_even=st.booleans())
def test_the_worst_pair_is_found_for_any_columns(bases, up_to, seed, is_even):
    workload = marginals(Domain({f"x{i}": basis.size for i, basis in enumerate(bases)}), up_to=up_to)
    noise = random_noise(workload, seed)
    if is_even:
        noise = np.exp(workload.closure.orders.astype(float))
    ones = [np.ones((basis.size,) * 2) for basis in bases]
    grams = [basis.matrix.T @ basis.matrix for basis in bases]
    total = sum(
        dense.product(grams[i] if i in members else ones[i] for i in range(len(bases))) / variance
        for members, variance in zip(workload.closure, noise.tolist(), strict=True)
        if members
    )
    own = total.diagonal()
    exact = float((own[:, None] + own - 2 * total).max())
    strategy = rp.strategies.constant_strategy(workload.closure, bases)
    assert exact * (1 - 1e-13) <= cost_upper_bound(strategy, noise, REPLACE) <= exact * (1 + 1e-11)
    with limited("more.replacement.largest_replacement", _ENTRIES=1, _SWEEPS=0):  # branches are left with their bound
        assert exact * (1 - 1e-13) <= cost_upper_bound(strategy, noise, REPLACE)


@given(
    case=cases(),
    seed=seeds,
    size=st.sampled_from([1e-290, 1e-9, 1.0, 1e9, 1e290]),
    notion=st.sampled_from(["add-remove", "replace"]),
    records=st.integers(1, 10**6),
)
def test_the_stated_cost_is_at_least_the_exact_one_and_hardly_more(case, seed, size, notion, records):
    workload, exactly = case.workload, dense.exact_cost if notion == "add-remove" else dense.exact_replacement_cost
    noise = random_noise(workload, seed) * size
    exact = exactly(case.sizes, dict(zip(workload.closure, noise.tolist(), strict=True))) * records**2
    neighbors = rp.privacy.Neighbors(notion, records)
    stated = Fraction(cost_upper_bound(rp.strategies.subtraction_strategy(workload), noise, neighbors))
    assert exact <= stated <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**280)


@pytest.mark.parametrize("attributes", [1, 5, 19, 20, 21, 30])
@pytest.mark.parametrize("size", [2, 3, 10])
def test_tables_of_one_attribute_cost_two_over_the_noise_each_however_many_there_are(attributes, size):
    workload = marginals(Domain({f"x{i}": size for i in range(attributes)}), order=1)
    noise = random_noise(workload, attributes)
    stated = Fraction(cost_upper_bound(rp.strategies.subtraction_strategy(workload), noise, REPLACE))
    exact = sum(2 / Fraction(variance) for variance in noise[1:].tolist())
    assert exact <= stated <= exact * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("attributes", [1, 5, 20])
def test_a_cost_over_all_ways_to_differ_leaves_room_for_the_rounding_of_every_operation(attributes):
    """A term of each of two corners: 3.5 roundings of 2**-53 for each attribute, and the difference is doubled."""
    workload = marginals(Domain({f"x{i}": 2 for i in range(attributes)}), order=1)
    noise = random_noise(workload, attributes)
    terms = sum(1 / Fraction(variance) for variance in noise[1:].tolist())
    stated = Fraction(cost_upper_bound(rp.strategies.subtraction_strategy(workload), noise, REPLACE))
    assert stated >= 2 * terms + 14 * attributes * Fraction(1, 2**53) * terms / 2


def multisets(cells: int, records: int) -> np.ndarray:
    """All data sets of so many records, as vectors of counts, (multisets, cells)."""
    chosen = itertools.combinations_with_replacement(range(cells), records)
    return np.array([np.bincount(cell, minlength=cells) for cell in chosen])


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.parametrize("notion", ["add-remove", "replace"])
def test_several_records_of_a_person_cost_what_all_pairs_of_data_sets_say(sizes, records, notion):
    workload = Case(sizes, (tuple(range(len(sizes))),), None).workload
    noise = random_noise(workload, records)
    queries, covariance = dense.mechanism(sizes, dict(zip(workload.closure, noise.tolist(), strict=True)))
    information = queries.T @ np.linalg.solve(covariance, queries)
    held = multisets(math.prod(sizes), records)
    moves = (held[:, None] - held[None]).reshape(-1, held.shape[1]) if notion == "replace" else held
    brute = np.einsum("pi,ij,pj->p", moves, information, moves).max()
    assert cost_upper_bound(
        rp.strategies.subtraction_strategy(workload), noise, rp.privacy.Neighbors(notion, records)
    ) == pytest.approx(brute)


@pytest.mark.parametrize("attributes", [3, 21])
@pytest.mark.parametrize("size", [5e-324, 1e-320, 2e-308])
def test_noise_too_small_for_its_cost_to_be_a_number_costs_infinitely_much(attributes, size):
    workload = marginals(Domain({f"x{i}": 2 for i in range(attributes)}), up_to=2)
    noise = np.full(len(workload.closure), size)
    assert cost_upper_bound(rp.strategies.subtraction_strategy(workload), noise, REPLACE) == math.inf


@settings(max_examples=30)
@given(seed=seeds)
def test_only_what_is_free_gets_a_token_cost(seed):
    rng = np.random.default_rng(seed)
    rows = rng.exponential(size=(3, 6)) * (rng.random((3, 6)) < 0.5)
    rows[0, 1], rows[:, 0] = 2.0, 0.0
    costs, free = with_token_cost(rows), rows.max(axis=0) == 0
    assert costs[:, ~free].tolist() == rows[:, ~free].tolist()
    assert (costs[:, free] > 0).all()
    assert (costs[:, free] < 1e-17 * rows[rows > 0].min()).all()

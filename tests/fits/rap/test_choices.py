"""Exact draws of the exponential mechanism."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import residualplanner as rp
from inner_parts import InsecureTestBits, drawing, exponential_choices


def sequential_law(scores, rate, draws):
    """The probability of each ordered list of candidates, by the definition of draws without replacement."""
    law = {}
    for chosen in permutations(range(len(scores)), draws):
        left, probability = list(range(len(scores))), 1.0
        for one in chosen:
            probability *= math.exp(rate * scores[one]) / sum(math.exp(rate * scores[other]) for other in left)
            left.remove(one)
        law[chosen] = probability
    return law


def p_value(found, law, runs):
    statistic = sum((found[outcome] - runs * p) ** 2 / (runs * p) for outcome, p in law.items())
    return chi2.sf(statistic, len(law) - 1)


def drawn_lists(scores, members, rate, draws, runs, seed):
    """Each run's candidates, numbered group after group."""
    source, firsts = InsecureTestBits(seed), np.cumsum(members) - members
    for _ in range(runs):
        choices = exponential_choices(scores, members, rate, draws, source)
        yield tuple(int(firsts[group]) + rank for group, rank in choices)


@pytest.mark.slow
def test_ordered_pairs_have_the_law_of_sequential_draws_and_a_rate_that_is_off_by_a_third_is_seen():
    scores, members, law = [4, 1, 0], np.array([1, 2, 1]), sequential_law([4, 1, 1, 0], 0.5, 2)
    for rate, is_right in ((Fraction(1, 2), True), (Fraction(65, 100), False)):
        found = Counter(drawn_lists(scores, members, rate, 2, 3000, seed=1))
        assert (p_value(found, law, 3000) > 1e-3) == is_right


@given(
    scores=st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6, unique=True),
    rate=st.fractions(0, 3),
    data=st.data(),
)
def test_bounds_are_never_below_the_weights_and_not_far_above(scores, rate, data):
    members = data.draw(st.lists(st.integers(1, 10**7), min_size=len(scores), max_size=len(scores)))
    shift = 61 - sum(members).bit_length()
    _, bounds = drawing.weight_bounds(np.array(scores), np.array(members), rate, shift)
    for score, count, bound in zip(scores, members, bounds.tolist(), strict=True):
        exponent = rate * (max(scores) - score)
        weight = 0 if exponent > 700 else count * 2**shift * Fraction(math.exp(-exponent)) * (1 - Fraction(1, 2**40))
        assert weight <= bound <= weight * (1 + Fraction(1, 2**28)) + 2
    assert int(bounds.sum()) < 2**62


def test_all_candidates_come_once_if_all_are_drawn():
    choices = exponential_choices([5, 2], [3, 4], Fraction(1, 3), 7, InsecureTestBits(3))
    assert sorted(choices) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)]


def test_scores_far_below_the_highest_are_drawn_once_it_is_gone():
    choices = exponential_choices([10**9, 7, 5], [1, 1, 10**6], Fraction(100), 3, InsecureTestBits(4))
    assert [group for group, _ in choices] == [0, 1, 2]


@pytest.mark.parametrize(
    ("scores", "members", "rate", "draws"),
    [
        ([1, 1], [1, 1], Fraction(1), 1),
        ([1], [0], Fraction(1), 1),
        ([1.5], [1], Fraction(1), 1),
        ([], [], Fraction(1), 0),
        ([1, 2], [1], Fraction(1), 1),
        ([1], [2**41], Fraction(1), 1),
        *(([1], [1], Fraction(1), draws) for draws in (2, -1)),
        *(([1], [1], rate, 1) for rate in (0.5, math.nan, Fraction(-1))),
    ],
)
def test_what_cannot_be_drawn_is_refused(scores, members, rate, draws):
    with pytest.raises(ValueError if rate == 1 else rp.errors.BudgetError):
        exponential_choices(np.array(scores), np.array(members), rate, draws, InsecureTestBits(5))


def test_stuck_bytes_are_refused():
    class Stuck:
        is_secure, mark = False, "stuck"

        def read(self, count):
            return bytes(count)

    with pytest.raises(rp.errors.NoiseError):
        exponential_choices([1, 0], [1, 1], Fraction(1), 1, Stuck())

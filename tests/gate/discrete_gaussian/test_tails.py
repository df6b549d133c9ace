"""Tails and exact decisions, made frequent: tables cut at one radius, so that many attempts land beyond them.

False alarms: p-values are compared with 1e-6, scores with 4.9.
"""

from decimal import ROUND_DOWN, Context, Inexact, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from sampler_oracles import assert_follows, checked, drawn, exp_interval, floats_decide_nothing, name_of, sized

from inner_parts import attempts, drawing, envelope


@pytest.fixture
def short_tables(monkeypatch):
    """Tables that reach one radius only; the tails do the rest."""
    drawing.require_sound_platform()  # with the tables as they are
    monkeypatch.setattr(envelope, "_WIDTHS", 1)
    envelope.envelope.cache_clear()
    envelope.shelf.cache_clear()
    yield
    envelope.envelope.cache_clear()
    envelope.shelf.cache_clear()


@pytest.mark.parametrize(
    "gamma2", [Fraction(17, 2), Fraction(900), Fraction(3 * 10**18 + 1, 3), Fraction(10**40, 3)], ids=name_of
)
@pytest.mark.cases(1)
def test_draws_from_tails_follow_the_law(gamma2, short_tables):
    # at small scales a tail is hit a hundred times for each draw
    assert_follows(gamma2, drawn(gamma2, sized(2_400, 12_000) * (1 if gamma2 < 100 or gamma2 > 2**110 else 5), 31))


@pytest.mark.cases(1)
@pytest.mark.parametrize("gamma2", [Fraction(17, 2), Fraction(10**12, 7)], ids=name_of)
def test_draws_decided_exactly_follow_the_law(gamma2):
    with floats_decide_nothing():
        assert_follows(gamma2, drawn(gamma2, sized(20_000, 200_000), 33))


def test_chunks_of_a_tail_halve_and_places_in_them_are_uniform():
    bits = checked(34)
    draws = [attempts.tail_distance(3, bits) for _ in range(20_000)]
    assert all(distance >> 9 == chunk for distance, chunk in draws)
    chunks = np.bincount([chunk for _, chunk in draws])
    for chunk, count in enumerate(chunks[:6]):
        mean = 20_000 / 2 ** (chunk + 1)
        assert abs(count - mean) < 4.9 * mean**0.5
    places = np.bincount([(distance & 511) // 32 for distance, _ in draws])
    assert places.size == 16
    assert (np.abs(places - 1250) < 4.9 * 1250**0.5).all()


class Coins:
    """The answers to requests for bits, which fail where there are more."""

    def __init__(self, answers):
        self.answers = list(answers)

    def integer(self, bits):
        return self.answers.pop(0) & ((1 << bits) - 1)


def test_the_chunk_is_the_number_of_tails_before_the_first_heads():
    assert attempts.tail_distance(0, Coins([1, 5])) == (5, 0)
    assert attempts.tail_distance(0, Coins([8, 63])) == (3 * 64 + 63, 3)
    assert attempts.tail_distance(4, Coins([0, 0, 2, 1023])) == (129 * 1024 + 1023, 129)


@pytest.mark.parametrize("digits", [25, 50, 200])
def test_bounds_of_the_exponential_hold_and_are_close(digits):
    for x in (Fraction(1, 3), Fraction(22, 7), Fraction(1, 10**30), Fraction(99, 2), Fraction(7**900, 7**899 * 2)):
        low, high = envelope.exp_bounds(x.numerator, x.denominator, digits)
        inner_low, inner_high = exp_interval(x, 4 * digits + 300)
        assert low <= inner_low
        assert inner_high <= high
        assert high - low < high / 10 ** (digits - 3)
    assert envelope.exp_bounds(0, 5, digits) == (1, 1)


def test_bounds_of_the_exponential_do_not_depend_on_the_context_of_the_caller():
    expected = envelope.exp_bounds(22, 7, 60)
    with localcontext(Context(prec=3, rounding=ROUND_DOWN, Emin=-9, Emax=9, traps=[Inexact])):
        assert envelope.exp_bounds(22, 7, 60) == expected


def test_a_probability_on_an_end_of_the_interval_is_decided_without_further_bits():
    half = Fraction(1, 2)
    assert attempts.is_below(2**20 - 1, 21, Fraction(0), half, Coins([]))
    assert not attempts.is_below(2**20, 21, Fraction(0), half, Coins([]))
    assert attempts.is_below(2**21 - 1, 21, Fraction(0), Fraction(1), Coins([]))


def test_a_probability_within_the_interval_is_decided_by_the_bits_that_follow():
    third = Fraction(1, 3)
    start = 2**21 // 3
    inside = int(Fraction(2**85) / 3) - (start << 64)
    assert attempts.is_below(start, 21, Fraction(0), third, Coins([inside - 1]))
    assert not attempts.is_below(start, 21, Fraction(0), third, Coins([inside + 1]))
    deep = int(Fraction(2**149) / 3) & (2**64 - 1)
    assert attempts.is_below(start, 21, Fraction(0), third, Coins([inside, deep - 1]))
    assert not attempts.is_below(start, 21, Fraction(0), third, Coins([inside, deep + 1]))


def test_a_probability_closer_to_an_end_than_25_digits_tell_is_decided_right():
    """The factor puts the probability 1e-40 relative from the end of an interval; more digits are needed, not bits."""
    with mpmath.workdps(120):
        inverse = Fraction(int(mpmath.exp(1) * mpmath.mpf(10) ** 100), 10**100)
    for shift, below in ((Fraction(1, 10**40), True), (-Fraction(1, 10**40), False)):
        factor = inverse * Fraction(5, 2**21) * (1 + shift)
        assert attempts.is_below(4 if below else 5, 21, Fraction(1), factor, Coins([])) is below


@pytest.mark.parametrize("exponent", [200, 10**6, 10**30])
def test_a_probability_below_all_known_digits_asks_for_more_only_while_they_are_zero(exponent):
    assert not attempts.is_below(1, 21, Fraction(exponent), Fraction(2**26), Coins([]))
    assert not attempts.is_below(
        0, 21, Fraction(exponent), Fraction(2**26), Coins([0, 0, 1]) if exponent > 200 else Coins([1])
    )


def test_all_zero_digits_in_the_end_decide_for_a_tiny_probability():
    truth = int(Fraction(2**149) * exp_interval(Fraction(80), 400)[0])
    digits = [truth >> 64 & (2**64 - 1), truth & (2**64 - 1)]
    assert truth >> 128 == 0
    assert attempts.is_below(0, 21, Fraction(80), Fraction(1), Coins([digits[0], digits[1] - 1]))
    assert not attempts.is_below(0, 21, Fraction(80), Fraction(1), Coins([digits[0], digits[1] + 1]))

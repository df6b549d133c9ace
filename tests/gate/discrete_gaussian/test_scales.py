"""Every scale is given a table and a block length that cover it, decided in exact arithmetic."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampler_oracles import drawn_by_the_system, scales_of, sized

import residualplanner as rp
from inner_parts import OperatingSystemBits, Scales, batches, draw_flat, drawing, envelope

#: All squares of radius * 2**m that a scale can be rounded up to, in ascending order.
LADDER = [Fraction(1, 16)]
LADDER += [(Fraction(2) ** power * (8 + eighth) / 8) ** 2 for power in range(-2, 70) for eighth in range(1, 9)]


def rounded_up(scales: Scales) -> list[Fraction]:
    """The squares of radius times block length that the scales were given."""
    levels = zip(scales.tables.tolist(), scales.block_bits.tolist(), strict=True)
    return [(envelope.radius_of_table(table) * 2**m) ** 2 for table, m in levels]


def next_on_the_ladder(gamma2: Fraction) -> Fraction:
    return next(square for square in LADDER if square >= gamma2)


def check_levels(gamma2):
    scales = scales_of(gamma2)
    assert rounded_up(scales) == [next_on_the_ladder(value) for value in gamma2]
    assert (scales.block_bits < 50).tolist() == [value <= 2**110 for value in gamma2]


@given(st.lists(st.fractions(min_value=Fraction(1, 2**60), max_value=2**130), min_size=1, max_size=5))
def test_a_scale_is_rounded_up_to_the_next_step(gamma2):
    check_levels(gamma2)


def test_scales_at_a_step_and_less_than_any_float_beside_it_are_told_apart():
    steps = [square for square in LADDER if square < 2**120]
    tiny = Fraction(1, 10**60)
    check_levels([square * factor for square in steps for factor in (1, 1 - tiny, 1 + tiny)])
    check_levels([square + Fraction(sign, 3**200) for square in steps for sign in (1, -1)])


def test_ratios_need_not_be_in_lowest_terms():
    random = Random(1)
    numerators = [random.getrandbits(random.randrange(20, 4000)) + 1 for _ in range(300)]
    denominators = [random.getrandbits(random.randrange(1, 40)) + 1 for _ in range(300)]
    scales = Scales.of_ratios([6 * a for a in numerators], [6 * b for b in denominators])
    lowest = scales_of([Fraction(a, b) for a, b in zip(numerators, denominators, strict=True)])
    for name in ("tables", "block_bits", "exponents"):
        np.testing.assert_array_equal(getattr(scales, name), getattr(lowest, name))


def test_the_exponent_is_within_two_roundings_of_the_exact_one():
    random = Random(2)
    gamma2 = [Fraction(random.getrandbits(90) + 1, random.getrandbits(40) + 1) for _ in range(sized(1000, 10_000))]
    gamma2 += [Fraction(1, 2**60), Fraction(2**110 - 1), Fraction(7**1000, 7**999 * 3)]
    scales = scales_of([value for value in gamma2 if value < 2**110])
    for exponent, value in zip(scales.exponents.tolist(), (v for v in gamma2 if v < 2**110), strict=True):
        exact = -1 / (2 * value)
        assert abs(Fraction(exponent) - exact) <= abs(exact) / 2**52


def test_blocks_of_the_largest_int64_scales_fit_into_the_bits_there_are():
    scales = scales_of([Fraction(2**110), Fraction(2**46), Fraction(2**46 + 1)])
    assert scales.block_bits.tolist() == [49, 17, 18]
    assert envelope.envelope(64).reach << 49 < 2**62


def test_exactly_the_scales_of_gamma_up_to_2_55_are_int64():
    edge = Fraction(2**110)
    for value, kind in ((edge, np.int64), (edge + Fraction(1, 10**50), object)):
        assert [array.dtype for array in drawn_by_the_system([value, Fraction(1)], [2, 2])] == [kind, kind]


@pytest.mark.parametrize("exponent", [31, 53, 63, 64, 108, 110, 112, 126])
def test_scales_around_the_limits_of_machine_numbers_have_the_right_spread(exponent):
    """False alarm: below 1e-9 each, by the chi-square distribution of the sum of squares of 400 draws."""
    for gamma2 in (Fraction(2**exponent - 1), Fraction(2**exponent), Fraction(2**exponent * 3 + 1, 3)):
        (values,) = drawn_by_the_system([gamma2], [400])
        spread = sum(int(value) ** 2 for value in values) / (400 * gamma2)
        assert 0.6 < spread < 1.55
        assert all(type(value) is int for value in values) if values.dtype == object else values.dtype == np.int64


def test_a_draw_that_does_not_fit_int64_is_not_wrapped(monkeypatch):
    """Such a draw takes about 2**57 coins of one side in a row; here one tail is hit, and the decision forged."""
    far, one = 2**63 + 5, envelope.envelope(int(Scales.of_ratios([1], [1]).tables[0]))

    class Forged:
        is_secure, mark, calls = False, "forged", 0

        def read(self, count):
            self.calls += 1
            words = (one.reach << 53) + np.arange(count // 8, dtype="<u8") % 1000  # block 0, kept; no two blocks alike
            if self.calls == 1:
                words[1] = one.right_tail << 53
            return words.tobytes()

    drawing.require_sound_platform()
    monkeypatch.setattr(batches.attempts, "decide", lambda *_: far)
    assert draw_flat(Scales.of_ratios([1], [1]), [3], Forged()).tolist() == [0, far, 0]


@pytest.mark.parametrize("gamma2", [0, Fraction(-1, 3), Fraction(1, 2**60 + 1), Fraction(1, 10**400)])
def test_scales_that_are_too_small_are_refused(gamma2):
    with pytest.raises(rp.errors.BudgetError, match=r"must be positive and at least 2\*\*-60; at index 1 it is not"):
        drawn_by_the_system([Fraction(1), gamma2], [1, 1])


@pytest.mark.parametrize(
    ("numerators", "denominators", "error", "match"),
    [
        ([-1], [0], rp.errors.BudgetError, "must be positive and finite"),
        ([-1], [-1], rp.errors.BudgetError, "must be positive and finite"),
        ([1, 2], [1], ValueError, "argument 2 is shorter than argument 1"),
    ],
)
def test_ratios_that_are_none_are_refused(numerators, denominators, error, match):
    with pytest.raises(error, match=match):
        Scales.of_ratios(numerators, denominators)


@pytest.mark.parametrize("sizes", [[1], [1, -1], [1.0, 2.0], [[1, 2]], 3, ["1", "2"], [True, False]])
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes must be 2 integers of at least 0, one for each scale"):
        drawn_by_the_system([Fraction(1), Fraction(2)], sizes)


def test_no_scales_and_no_draws_are_fine():
    assert drawn_by_the_system([], []) == []
    assert draw_flat(scales_of([]), [], OperatingSystemBits()).shape == (0,)
    several = drawn_by_the_system([Fraction(1), Fraction(2**120), Fraction(3)], [0, 0, 2])
    assert [array.size for array in several] == [0, 0, 2]

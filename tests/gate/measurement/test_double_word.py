"""Integers beyond int64, modulo 2**64 and nearly, are those of Python integers, to the last digit."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inner_parts import dense_integers, double_word, integer_products

#: Around where int64, and a word more, end.
EDGES = [sign * 2**bits + step for bits in (62, 63, 64, 65, 111) for sign in (1, -1) for step in (-2, -1, 0, 1, 2)]
numbers = st.integers(-(2**112), 2**112) | st.integers(-(2**65), 2**65) | st.sampled_from(EDGES)


def modulo(number):
    return (number + 2**63) % 2**64 - 2**63


@st.composite
def nearby(draw: st.DrawFn) -> tuple[int, float]:
    """A number, and a float within 2**62 of it, often at the end of that."""
    number = draw(numbers)
    error = draw(st.sampled_from([-(2**62), 0, 2**62]) | st.integers(-(2**62), 2**62))
    near = float(number + error)
    while abs(int(near) - number) > 2**62:
        near = math.nextafter(near, number)
    return number, near


@given(pairs=st.lists(nearby(), min_size=1, max_size=6))
@settings(max_examples=200)
def test_modulo_and_nearly_together_are_the_number_however_near_is_wrong(pairs):
    low = np.array([modulo(number) for number, _ in pairs])
    found = double_word.combine_words(low, np.array([near for _, near in pairs]))
    assert found.tolist() == [number for number, _ in pairs]
    # The type is a function of the numbers, not of what is near them.
    assert (found.dtype == np.int64) == all(-(2**63) <= number < 2**63 for number, _ in pairs)


@given(
    shape=st.lists(st.integers(1, 24), min_size=1, max_size=4).map(tuple),
    bits=st.integers(0, 20),
    total=st.integers(0, 43),
    seed=st.integers(0, 999),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_products_are_exact_modulo_and_as_near_as_the_rounding_says(shape, bits, total, seed, data):
    """Total times entries has up to 123 bits; counts are spread, or all in one cell."""
    chance = np.random.default_rng(seed)
    cells = math.prod(shape)
    if data.draw(st.booleans()):
        tables = chance.integers(-(2**total), 2**total, (2, *shape), endpoint=True) // cells
    else:
        tables = np.zeros((2, *shape), dtype=np.int64)
        tables.reshape(-1)[chance.integers(2 * cells)] = data.draw(st.sampled_from([-1, 1])) * 2**total
    matrices = {
        axis: dense_integers(chance.integers(-(2**bits), 2**bits, (data.draw(st.integers(1, 4)), size), endpoint=True))
        for axis, size in enumerate(shape, start=1)
        if data.draw(st.booleans())
    }
    exact = integer_products(tables.astype(object), matrices, total=2**total)
    before = tables.copy()
    low, near = double_word.products_modulo(tables, matrices, total=2**total)
    assert (tables == before).all()
    assert (low.dtype, near.dtype) == (np.int64, np.float64)
    assert low.ravel().tolist() == [modulo(number) for number in exact.ravel().tolist()]
    roundings = 1 + sum(each.roundings for each in matrices.values())
    bound = 2**total * math.prod(each.largest for each in matrices.values())
    errors = [abs(Fraction(a) - b) for a, b in zip(near.ravel().tolist(), exact.ravel().tolist(), strict=True)]
    assert max(errors) * 2**52 <= roundings * bound
    if double_word.float_identifies(bound, roundings):
        assert (double_word.combine_words(low, near) == exact).all()


def test_near_enough_is_within_two_to_the_62():
    for roundings in (1, 7, 300, 2**20):
        for bits in range(80, 113):
            unit = Fraction(roundings, 2**53)
            assert double_word.float_identifies(2**bits, roundings) == (2 * unit * 2**bits <= 2**62)
            assert not double_word.float_identifies(2**bits, roundings) or unit / (1 - unit) * 2**bits <= 2**62
    assert not double_word.float_identifies(2**112 + 1, 1)

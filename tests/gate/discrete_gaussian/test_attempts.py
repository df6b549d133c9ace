"""Attempts, decided fast and decided slowly: the same bits must give the same integers."""

from fractions import Fraction
from random import Random

import mpmath
import numpy as np
import pytest
import sampler_oracles as oracles
from hypothesis import given
from hypothesis import strategies as st

from inner_parts import InsecureTestBits, attempts, batches, draw_flat, envelope

INT64_SCALES = [
    Fraction(1, 2**60),
    Fraction(1, 100),
    Fraction(1, 3),
    Fraction(1),
    Fraction(17, 2),
    Fraction(1000, 7),
    Fraction(31**2),
    Fraction(10**6 * 3 + 1, 3),
    Fraction(2**46 + 1),  # the first whose blocks need more than 17 bits
    Fraction(3 * 10**18 + 1, 3),
    Fraction(10**30, 7),
    Fraction(2**110 - 1),
    Fraction(3**700 + 1, 3**690 * 7),
]
LARGE_SCALES = [Fraction(2**110), Fraction(10**40, 3), Fraction(7**900, 2**300 * 5)]
WORDS = oracles.sized(1500, 5000)


def hostile_words(gamma2, scale, extra_bits, count, random):
    """Words at every boundary: alias fractions at the threshold, U within 3 * 2**-85 of the probability, tails.

    Where blocks are long, also places whose probability lies at the end of an interval of U, where floats are put to
    the test.  Gives words, their extensions, the further bits that a slow attempt used, and what it came to.
    """
    table, m = scale
    one = envelope.envelope(table)
    for _ in range(count):
        extra = random.getrandbits(extra_bits) if extra_bits else 0
        head = hostile_head(one, random)
        field = random.choice([0, 2**17 - 1, random.getrandbits(17)])
        cell, _, _ = oracles.decode(head << 38, one)
        if m >= 24 and cell < 2 * one.reach and random.random() < 0.4:
            field, extra = hostile_place(gamma2, (one, m), cell, extra_bits, random)
        word = head << 38 | field << 21
        given = [1 << random.choice([0, 0, 1, 3]), random.getrandbits(m + 6)] if cell >= 2 * one.reach else []
        given = [*given, *hostile_uniform(gamma2, (one, m), cell, (field, extra, extra_bits), given, random)]
        word |= given.pop(2 if cell >= 2 * one.reach else 0)
        queue, used = [*given, *[random.getrandbits(64) for _ in range(4)]], []

        def more_bits(bits, queue=queue, used=used):
            used.append((queue.pop(0) & ((1 << bits) - 1), bits))
            return used[-1][0]

        value = oracles.slow_attempt(word, extra, extra_bits, one, (gamma2.numerator, gamma2.denominator, m), more_bits)
        yield word, extra, used, value


def hostile_head(one, random):
    """The top 26 bits: a tail, or a column with its fraction on either side of the threshold, or anywhere."""
    if random.random() < 0.15:
        return (2 * one.reach + random.randrange(2)) << 15
    column = random.randrange(2048)
    threshold = int(one.bounds[column]) - (column << 15)
    fraction = random.choice([threshold - 1, threshold, random.getrandbits(15)])
    return column << 15 | min(max(fraction, 0), 2**15 - 1)


def hostile_place(gamma2, table, cell, extra_bits, random):
    """The bits of a place where the probability is as close as can be to a multiple of 2**-21, where U's digits end."""
    one, m = table
    block = cell - one.reach
    ends = [
        Fraction(one.scale, one.weights[cell]) * oracles.exp_interval(Fraction((edge << m) ** 2) / (2 * gamma2), 400)[0]
        for edge in (block, block + 1)
    ]
    low, high = (int(end * 2**21) for end in sorted(ends))
    multiple = random.randrange(low, high + 1) if high > low else high
    with mpmath.workdps(m // 3 + 40):
        height = mpmath.mpf(max(multiple, 1)) / 2**21 * one.weights[cell] / one.scale
        distance = mpmath.sqrt(-2 * mpmath.mpf(gamma2.numerator) / gamma2.denominator * mpmath.log(min(height, 1)))
        value = int(distance if block >= 0 else -distance) + random.randrange(-1, 2)
    place = min(max(value - (block << m), 0), 2**m - 1)
    bits = place << (17 + extra_bits - m) | random.getrandbits(17 + extra_bits - m)
    return bits >> extra_bits, bits & ((1 << extra_bits) - 1)


def hostile_uniform(gamma2, table, cell, place, given, random):
    """The 21 bits of U in the word and the 64 that extend them, near the exact probability."""
    (one, m), (field, extra, extra_bits) = table, place
    if cell == 2 * one.reach + 2:
        return [0, 0]
    if cell < 2 * one.reach:
        value, chunk = (cell - one.reach) * 2**m + ((field << extra_bits | extra) >> (17 + extra_bits - m)), 0
    else:
        chunk = given[0].bit_length() - 1
        value = one.reach * 2**m + chunk * 2 ** (m + 6) + given[1]
        value = value if cell == 2 * one.reach else -1 - value
    low, _ = oracles.probability_interval(one, gamma2.numerator, gamma2.denominator, m, cell, value, chunk)
    uniform = int(low * 2**85) + random.randrange(-3, 4)
    if random.random() < 0.2:
        uniform = (int(low * 2**21) + random.choice([-1, 0, 1]) << 64) + random.choice([0, 2**64 - 1])
    uniform = min(max(uniform, 0), 2**85 - 1)
    return [uniform >> 64, uniform & (2**64 - 1)]


def script_of(hostile, extra_bytes, filler):
    words = np.array([word for word, *_ in hostile], dtype="<u8").tobytes()
    extras = b"".join(extra.to_bytes(extra_bytes, "little") for _, extra, *_ in hostile)
    return oracles.Script(words + extras, [bits for _, _, used, _ in hostile for bits, _ in used], filler, extra_bytes)


def check_agreement(script, hostile, values, bytes_per_word):
    rejected = [value is None for *_, value in hostile]
    assert list(values) == [value or 0 for *_, value in hostile]
    assert script.later == []
    assert script.requests == [bits for _, _, used, _ in hostile for _, bits in used]
    assert script.sizes[1:] == ([bytes_per_word * sum(rejected)] if any(rejected) else [])


def filler_of(table):
    return envelope.envelope(table).reach << 53  # block 0, place 0, U = 0


def check_words(gamma2, words_of):
    """A batch of one scale makes of words what slow arithmetic makes of them."""
    scales = oracles.scales_of([gamma2])
    level = int(scales.tables[0]), int(scales.block_bits[0])
    extra_bytes = 4 * max(-(-(level[1] - 17) // 32), 0)
    words = list(words_of(level, 8 * extra_bytes))
    script = script_of(words, extra_bytes, filler_of(level[0]))
    batch = batches.Batch(scales, np.array([len(words)]))
    batch.fill(script)
    assert (batch.draws.dtype == object) == (level[1] > 49)
    check_agreement(script, words, batch.draws.tolist(), 8 + extra_bytes)


@pytest.mark.parametrize("gamma2", [*INT64_SCALES, *LARGE_SCALES], ids=oracles.name_of)
@pytest.mark.cases(5)
def test_boundary_words_are_decided_as_slow_arithmetic_decides_them(gamma2):
    count = WORDS if gamma2 <= 2**110 else WORDS // 4 if gamma2 < 2**200 else WORDS // 30
    check_words(gamma2, lambda level, extra_bits: hostile_words(gamma2, level, extra_bits, count, Random(str(gamma2))))


@pytest.mark.parametrize("chosen", [INT64_SCALES, INT64_SCALES[3:8]], ids=["long blocks among them", "short blocks"])
def test_boundary_words_of_many_scales_in_one_vector_are_decided_as_slow_arithmetic_decides_them(chosen):
    scales, random, is_wide = oracles.scales_of(chosen), Random(5), chosen is INT64_SCALES
    hostile = []
    for gamma2, table, m in zip(chosen, scales.tables.tolist(), scales.block_bits.tolist(), strict=True):
        hostile += hostile_words(gamma2, (table, m), 32 * is_wide, 60, random)
    script = script_of(hostile, 4 * is_wide, 0)
    batch = batches.Batch(scales, np.full(len(chosen), 60))
    left = batch._pass(batch._first_slots(), script)
    rejected = sorted(place for slots in left for place in np.arange(10**6)[slots.where].tolist())
    assert rejected == [place for place, (*_, value) in enumerate(hostile) if value is None]
    kept = [place for place, (*_, value) in enumerate(hostile) if value is not None]
    assert batch.values[kept].tolist() == [hostile[place][3] for place in kept]
    assert script.later == []


def test_trying_again_gives_nothing_even_where_u_is_zero():
    one = envelope.envelope(40)
    pick = int(np.flatnonzero(one.cells == one.right_tail + 2)[0])
    assert attempts.decide(one, (100, 1, 0), (pick, 0), 0, oracles.Script(b"", [], 0)) is None


@pytest.mark.cases(10)
@pytest.mark.parametrize("gamma2", [*INT64_SCALES, *LARGE_SCALES], ids=oracles.name_of)
def test_floats_decide_nothing_differently_from_exact_arithmetic(gamma2):
    size = oracles.sized(4000, 100_000) if gamma2 < 2**110 else 1000
    fast = oracles.drawn(gamma2, size, 21)
    with oracles.floats_decide_nothing():
        np.testing.assert_array_equal(fast, oracles.drawn(gamma2, size, 21))


@given(
    gamma2=st.one_of(
        st.fractions(min_value=Fraction(1, 2**60), max_value=2**16),
        st.builds(Fraction, st.integers(2**20, 2**1200), st.integers(1, 2**1100)).filter(
            lambda g: 2**-60 <= g < 2**110
        ),
    )
)
def test_floats_decide_nothing_differently_at_any_scale(gamma2):
    fast = oracles.drawn(gamma2, 200, 24)
    with oracles.floats_decide_nothing():
        np.testing.assert_array_equal(fast, oracles.drawn(gamma2, 200, 24))


def test_how_draws_are_cut_into_vectors_changes_nothing(monkeypatch):
    chosen, sizes = oracles.scales_of(INT64_SCALES), [7000, 1, 12_000, 0, 300, 20_000, 1, 1, 8192, 5, 6000, 9000, 2]
    cut = draw_flat(chosen, sizes, InsecureTestBits(6))
    monkeypatch.setattr(batches, "VECTOR", 1 << 17)
    np.testing.assert_array_equal(cut, draw_flat(chosen, sizes, InsecureTestBits(6)))


def test_floats_may_not_decide_within_64_times_their_error():
    """The constants of the proof: roundings add up to less than 2**-42 of the probability 1."""
    exponent = 64 * 6 * 2.0**-53
    assert exponent * 1.01 + 2.0**-44 + 4 * 2.0**-53 < 2.0**-42
    assert attempts.SLACK * 2.0**-21 >= 64 * 2.0**-42
    assert 2.0**26 * np.exp(-64) < attempts.SLACK * 2.0**-21


@pytest.mark.parametrize("gamma2", [Fraction(1, 3), *INT64_SCALES[7:12], *LARGE_SCALES[:2]], ids=oracles.name_of)
def test_the_same_bytes_give_the_same_values_alone_and_in_a_batch(gamma2):
    count = 8192
    alone = draw_flat(oracles.scales_of([gamma2]), [count], InsecureTestBits(4))
    halves = draw_flat(oracles.scales_of([gamma2] * 2), [count // 2] * 2, InsecureTestBits(4))
    np.testing.assert_array_equal(alone, halves)


def test_large_scales_beside_others_follow_their_laws():
    """How much is read for each depends on the longest blocks beside it."""
    laws = [Fraction(10**40, 3), Fraction(9), Fraction(10**60, 7), Fraction(10**35)]
    for law, values in zip(laws, oracles.drawn_by_the_system(laws, [20_000] * 4), strict=True):
        oracles.assert_follows(law, values)

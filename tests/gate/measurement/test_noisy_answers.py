"""Noisy answers are exact where numbers exceed int64, and what is done follows from the plan and from them alone."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inner_parts import discrete, integer_products, noisy_answers
from random_plans import basis_of, random_matrix
from replayed_measuring import after_noise, before_noise, divisors_of


@st.composite
def stacks(draw: st.DrawFn):
    """Bases of up to four axes with entries up to 2**20, a divisor, counts up to 10**12, noise up to 2**60."""
    axes = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(2, 12))
        rows, bits = draw(st.none() | st.integers(1, size - 1)), draw(st.integers(2, 20))
        axes.append((size, None if rows is None else random_matrix(size, rows, draw(st.integers(0, 99)), most=2**bits)))
    shape = [size for size, _ in axes]
    noise_shape = [size if B is None else len(B) for size, B in axes]
    chance = np.random.default_rng(draw(st.integers(0, 999)))
    counts = chance.integers(0, draw(st.sampled_from([1, 10, 10**6, 10**12])), (2, *shape), endpoint=True)
    if draw(st.booleans()):
        counts[chance.random(counts.shape) < 0.9] = 0
    most = draw(st.sampled_from([1, 2**30, 2**60]))
    bases = [basis_of(*axis) for axis in axes]
    (divisor,) = divisors_of([bases], draw(st.sampled_from([1, 2, 2**22])))
    return bases, divisor, counts, chance.integers(-most, most, (2, *noise_shape), endpoint=True)


def exact_answers(bases, divisor, counts, noise):
    f = divisor // divisors_of([bases])[0]
    return after_noise(f * before_noise(counts, bases) + noise, bases)


@given(stack=stacks())
@settings(max_examples=120, deadline=None)
def test_two_words_are_exact_and_int64_exactly_where_all_answers_fit(stack):
    bases, divisor, counts, noise = stack
    records = int(counts.sum(axis=tuple(range(1, counts.ndim)), dtype=object).max())
    if noisy_answers.width_of(bases, 2.0**-50, divisor, records) is noisy_answers.Width.PYTHON:
        return
    expected = exact_answers(bases, divisor, counts, noise)
    fits = all(-(2**63) <= number < 2**63 for number in expected.ravel().tolist())
    place = np.empty(expected.shape, dtype=np.int64)
    for out in (None, place):
        found = noisy_answers.noisy_answers(
            counts, noise, bases=bases, divisor=divisor, records=records, width=noisy_answers.Width.DOUBLE_WORD, out=out
        )
        assert found.ravel().tolist() == expected.ravel().tolist()
        assert (found.dtype == np.int64) == fits
        assert not fits or out is None or found is place


@pytest.mark.parametrize("target", [s * 2**b + d for b in (63, 64, 65, 80) for s in (1, -1) for d in (-1, 0, 1)])
@pytest.mark.parametrize("side", [-1, 1])
def test_answers_at_the_ends_of_int64_from_either_side(target, side):
    """The noise brings the answer to the target from below or from above; the last table of a stack alone is large.

    Of three matrices one entry is the largest, 2**20, or the least: one record there counts 2**60, or as much below 0.
    """
    sign = -1 if target < 0 else 1
    bases = [basis_of(3, np.array([[entry * 2**20, 0, 1]])) for entry in (sign, 1, 1)]
    records = abs(target) // 2**60 + side
    counts = np.zeros((3, 3, 3, 3), dtype=np.int64)
    counts[2, 0, 0, 0] = records
    noise = np.zeros((3, 1, 1, 1), dtype=np.int64)
    noise[2] = target - sign * records * 2**60
    found = noisy_answers.noisy_answers(
        counts, noise, bases=bases, divisor=1, records=discrete.RECORDS, width=noisy_answers.Width.DOUBLE_WORD
    )
    assert found.ravel().tolist() == [0, 0, target]
    assert found.dtype == (np.int64 if -(2**63) <= target < 2**63 else object)


def lines_run(function):
    """Which lines of the library run, in order, and what comes back."""
    seen = []

    def watch(frame, event, _argument):
        if "residualplanner" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen.append((frame.f_code.co_filename, frame.f_lineno))
        return watch

    sys.settrace(watch)
    try:
        found = function()
    finally:
        sys.settrace(None)
    return seen, found


@given(stack=stacks(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_what_is_done_is_a_function_of_the_answers(stack, data):
    """Other counts, and noise that makes up for them, give the same answers: the same type, line after line."""
    bases, divisor, counts, noise = stack
    if noisy_answers.width_of(bases, 2.0**-50, divisor, 2**56) is noisy_answers.Width.PYTHON:
        return
    other = counts.copy()
    cell = tuple(data.draw(st.integers(0, size - 1)) for size in counts.shape)
    other[cell] += data.draw(st.integers(1, 2**10))
    matrices = {axis: own for axis, basis in enumerate(bases, start=1) for own in basis.integer_maps}
    moved = noise - divisor * integer_products((other - counts).astype(object), matrices, total=2**10)
    if max(map(abs, moved.ravel().tolist())) >= 2**63:
        return
    moved = moved.astype(np.int64)
    options = {"bases": bases, "divisor": divisor, "records": 2**56, "width": noisy_answers.Width.DOUBLE_WORD}
    seen, found = lines_run(lambda: noisy_answers.noisy_answers(counts, noise, **options))
    seen_too, found_too = lines_run(lambda: noisy_answers.noisy_answers(other, moved, **options))
    assert found.tolist() == found_too.tolist()
    assert found.dtype == found_too.dtype
    assert seen == seen_too


@pytest.mark.parametrize(
    ("axes", "precision", "records", "width"),
    [
        # Three prefix attributes of 100 values: nine binary digits fit int64, 13 need two words, up to 2**60 records.
        ([(100, 2**9)] * 3, 2.0**-70, 2**33, noisy_answers.Width.INT64),
        ([(100, 2**13)] * 3, 2.0**-70, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(100, 2**13)] * 5, 2.0**-70, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(100, 2**13)] * 6, 2.0**-70, 2**33, noisy_answers.Width.PYTHON),
        # The noise must fit int64 whatever the counts.
        ([(100, 2**13)] * 3, 2.0**-109, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(100, 2**13)] * 3, 2.0**-110, 2**33, noisy_answers.Width.PYTHON),
        ([(2**14, None)] * 2, 1.0, 2**33, noisy_answers.Width.INT64),
        ([(2**15, None), (2**14, None)], 1.0, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(3, 2**20), (3, 2**8)], 1.0, 2**33, noisy_answers.Width.INT64),
        ([(3, 2**20), (3, 2**9)], 1.0, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(3, 2**20)], 1.0, 2**41, noisy_answers.Width.INT64),
        ([(3, 2**20)], 1.0, 2**42, noisy_answers.Width.DOUBLE_WORD),
        # The noise is that of the answers, whatever the basis: 64 / sqrt(w); no axis doubles it but subtraction.
        ([], 2.0**-108, 2**33, noisy_answers.Width.INT64),
        ([], 2.0**-111, 2**33, noisy_answers.Width.PYTHON),
        ([(2, None)] * 5, 2.0**-90, 2**33, noisy_answers.Width.INT64),
        ([(2, None)] * 5, 2.0**-92, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(3, 1)] * 5 + [(2, None)], 2.0**-106, 2**33, noisy_answers.Width.INT64),
        ([(3, 1)] * 5 + [(2, None)], 2.0**-109, 2**33, noisy_answers.Width.PYTHON),
        ([(3, 1)] + [(2, None)] * 5, 2.0**-90, 2**33, noisy_answers.Width.INT64),
        ([(3, 1)] + [(2, None)] * 5, 2.0**-96, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(100, None)] * 8, 1.0, 2**33, noisy_answers.Width.DOUBLE_WORD),
        ([(100, None)] * 9, 1.0, 2**33, noisy_answers.Width.PYTHON),
    ],
)
def test_sizes_entries_and_scales_decide_the_width(axes, precision, records, width):
    bases = [basis_of(n, None if entry is None else spiked(n, entry)) for n, entry in axes]
    assert noisy_answers.width_of(bases, precision, divisors_of([bases])[0], records) is width


def spiked(size, entry):
    """A matrix (1, n) with one largest entry."""
    matrix = np.ones((1, size), dtype=np.int64)
    matrix[0, 0] = entry
    matrix[0, 1] = 0
    return matrix

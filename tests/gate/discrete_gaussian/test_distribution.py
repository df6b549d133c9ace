"""Draws follow the discrete Gaussian, to the eye of statistics: the last line of defense, not the first.

False alarms: every p-value is compared with 1e-6 and every score with 4.9, so a test fails by chance once in a million
for each; there are fewer than 60 of them.  With 6 million draws a scale wrong by 0.2 percent moves the mean square by
6.9 standard errors, so it is noticed with probability 0.98.
"""

from fractions import Fraction

import numpy as np
import pytest
from sampler_oracles import P_VALUE, SCORE, Law, Tally, assert_follows, drawn, name_of, scales_of, sized

from inner_parts import InsecureTestBits, Scales, batches, draw_flat

CHUNK = 10**6
SCALES = [
    Fraction(1, 7),
    Fraction(1),
    Fraction(17, 2),
    Fraction(1000, 7),
    Fraction(33**2),
    Fraction(10**6 * 3 + 1, 3),
    Fraction(10**12, 7),
    Fraction(10**18 * 3 + 1, 3),
]


def tally(scale: Fraction, law: Fraction, draws: int, seed: int) -> Tally:
    result = Tally(Law(law), draws)
    scales, bits = scales_of([scale]), InsecureTestBits(seed)
    for _ in range(draws // CHUNK):
        result.add(draw_flat(scales, [CHUNK], bits))
    return result


@pytest.mark.parametrize("gamma2", sized(SCALES, SCALES[1:8:2]), ids=name_of)
@pytest.mark.cases(2)
def test_frequencies_mean_and_variance_are_the_laws(gamma2):
    result = tally(gamma2, gamma2, sized(6 * CHUNK, 10**9), seed=1)
    assert result.p_value > P_VALUE
    assert abs(result.variance_score) < SCORE
    assert abs(result.mean_score) < SCORE


def test_many_scales_in_one_batch_follow_their_laws():
    gamma2 = [*SCALES, *SCALES[::-1]]
    size = sized(2 * 10**5, 2 * 10**6)
    values = draw_flat(scales_of(gamma2), [size] * len(gamma2), InsecureTestBits(4)).reshape(-1, size)
    for law, found in zip(gamma2, values, strict=True):
        assert_follows(law, found, mean=False)


def test_short_runs_of_many_scales_follow_their_laws():
    """Every vector holds hundreds of scales; divided by gamma all of them are nearly standard normal."""
    numerators = [10**8 + 10**5 * number**2 for number in range(5000)]
    scales = Scales.of_ratios(numerators, [7] * 5000)
    values = draw_flat(scales, np.full(5000, sized(40, 4000)), InsecureTestBits(5)).reshape(5000, -1)
    scaled = (values / np.sqrt(np.array(numerators) / 7)[:, None] * 10**8).ravel()
    assert_follows(Fraction(10**16), scaled, mean=False)


def test_python_integers_follow_their_law():
    assert_follows(Fraction(10**40, 3), drawn(Fraction(10**40, 3), sized(50_000, 10**6), 6))


LAGS = (1, 2, 3, batches.VECTOR - 1, batches.VECTOR, batches.VECTOR + 1, batches.REQUEST)


def worst_correlation(values: np.ndarray) -> float:
    """The largest score of the correlations of values and of their sizes with those some places later."""
    worst = 0.0
    for series in (values, np.abs(values)):
        numbers = series.astype(float) - series.mean()
        numbers /= numbers.std()
        for lag in LAGS:
            score = (numbers[lag:] @ numbers[:-lag]) / np.sqrt(numbers.size - lag)
            worst = max(worst, abs(float(score)))
    return worst


@pytest.mark.parametrize("gamma2", [Fraction(1), Fraction(10**12, 7), Fraction(10**18)], ids=name_of)
def test_draws_do_not_depend_on_earlier_ones(gamma2):
    values = drawn(gamma2, CHUNK, 9)
    assert worst_correlation(values) < 5.3  # 14 scores: once in a million

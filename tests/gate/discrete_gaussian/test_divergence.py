"""What the noise promises: the Renyi divergence between noisy answers that differ by k is at most that of a normal."""

from fractions import Fraction

import mpmath
import pytest

DIGITS = 60


def theta(rate, center):
    """Sum over the integers i of exp(-rate * (i - center)**2)."""
    reach = int(mpmath.sqrt(2 * DIGITS * mpmath.log(10) / rate)) + 3
    middle = int(center)
    return mpmath.fsum(mpmath.exp(-rate * (i - center) ** 2) for i in range(middle - reach, middle + reach + 1))


@pytest.mark.parametrize("gamma2", [Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(17, 2)], ids=str)
def test_the_divergence_of_shifted_noise_is_at_most_alpha_k_squared_over_two_gamma_squared(gamma2):
    """64 cases at 60 digits.  Source: Canonne, Kamath & Steinke 2020: the discrete Gaussian is concentrated private.

    With P the noise and Q the noise moved by k, alpha (i - k)**2 + (1 - alpha) i**2 is
    (i - alpha k)**2 - alpha (alpha - 1) k**2, so the moment of order alpha of Q/P is a theta sum off its center.
    """
    with mpmath.workdps(DIGITS):
        rate = mpmath.mpf(gamma2.denominator) / (2 * gamma2.numerator)
        for shift in (1, 2, 3, 7):
            for alpha in (mpmath.mpf("1.01"), mpmath.mpf(2), mpmath.mpf("5.3"), mpmath.mpf(32)):
                bound = alpha * shift**2 * rate
                off_center = mpmath.log(theta(rate, alpha * shift) / theta(rate, mpmath.mpf(0)))
                divergence = bound + off_center / (alpha - 1)
                assert divergence <= bound * (1 + mpmath.mpf(10) ** -45)
                assert divergence > bound - 10  # not vacuous: the bound is the size of the divergence


def test_a_smaller_bound_would_fail():
    with mpmath.workdps(DIGITS):
        assert (
            theta(mpmath.mpf(1) / 17, mpmath.mpf(2)) / theta(mpmath.mpf(1) / 17, mpmath.mpf(0))
            > 1 - mpmath.mpf(10) ** -30
        )

"""Base mechanisms with continuous Gaussian noise, in floating point.

Reads: counts and noise variances.  Gives: residual answers.  For research: real numbers are taken for exact.
"""

import os
from collections.abc import Callable

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner.kron import Scratch, residuals_of_tables

#: What answers for a stack of equal-shaped tables: reads counts (b, n_1, .., n_k) and noise variances (b,), writes the
#: residual answers (b, n_1 - 1, .., n_k - 1).
Mechanism = Callable[[IntArray, FloatArray, FloatArray], None]


def gaussian_mechanism(generator: np.random.Generator) -> Mechanism:
    """The base mechanisms with normal variates of ``generator``, drawn in the order of the cells.

    Guarantees: the answers of a set with noise variance s have mean ``H v`` and covariance ``s H H^T``, up to rounding.
    Source: spec eq. (7); paper Algorithm 1.

    Example:
        >>> counts, answers = np.array([[7, 4, 2]]), np.empty((1, 2))
        >>> gaussian_mechanism(np.random.default_rng(1))(counts, np.array([0.0]), answers)
        >>> answers
        array([[3., 5.]])
    """
    scratch = Scratch()

    def answer(tables: IntArray, noise_variance: FloatArray, residuals: FloatArray) -> None:
        noisy: FloatArray = scratch.empty(0, tables.shape, residuals)
        generator.standard_normal(out=noisy)
        noisy *= np.sqrt(noise_variance).reshape(-1, *(1,) * (tables.ndim - 1))
        noisy += tables
        residuals_of_tables(noisy, scratch=scratch, out=residuals)

    return answer


def release_generator() -> np.random.Generator:
    """A generator seeded with 256 bits from the operating system."""
    return generator_of_entropy(int.from_bytes(os.urandom(32)))


def generator_of_entropy(entropy: int) -> np.random.Generator:
    """The generator that a whole number, at least 0, stands for."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy, pool_size=8)))

"""Base mechanisms with continuous Gaussian noise, in floating point.

Reads: counts and noise variances.  Gives: residual answers.  For research: floating point stands for exact real noise.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner.bases import Basis
from residualplanner.discrete_gaussian import NoiseError
from residualplanner.kron import ProductMap, Scratch
from residualplanner.measurement.answers import AnswerLayout
from residualplanner.measurement.counting import NOTHING
from residualplanner.sources import Progress
from residualplanner.strategy import BasisGroups

#: How many cells are worked on at a time, so that they stay in the processor's cache.
BATCH_CELLS = 2**16
#: What answers for a stack of tables with the same bases (k,): reads these, counts (b, n_1, .., n_k) and noise
#: variances (b,), and writes the residual answers (b, m_1, .., m_k).
Mechanism = Callable[[Sequence[Basis], IntArray, FloatArray, FloatArray], None]


def gaussian_mechanism(generator: np.random.Generator, denominator: int = 1) -> Mechanism:
    """The base mechanisms with normal variates of ``generator``, drawn in the order of the cells.

    Args:
        generator: of the variates.
        denominator: what the tables have been multiplied by, so that they are integers.

    Guarantees: the answers of a set with noise variance s have mean ``H v`` and covariance ``s F F^T``, up to rounding,
        where H and F are Kronecker products: of ``Sub`` in both for an attribute that has the subtraction basis, of B
        and the identity for one that has a matrix B.
    Source: spec eqs. (6), (7) and (26); paper Algorithms 1 and 5.

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> counts, answers = np.array([[7, 4, 2]]), np.empty((1, 2))
        >>> mechanism = gaussian_mechanism(np.random.default_rng(1))
        >>> mechanism([subtraction_basis(3)], counts, np.array([0.0]), answers)
        >>> answers
        array([[3., 5.]])
    """
    scratch = Scratch()

    @lru_cache(maxsize=1)  # tables with the same bases come one after another
    def maps_of(bases: tuple[Basis, ...]) -> tuple[ProductMap, ProductMap]:
        return ProductMap([basis.before_noise for basis in bases]), ProductMap([basis.after_noise for basis in bases])

    def answer(bases: Sequence[Basis], tables: IntArray, noise_variance: FloatArray, residuals: FloatArray) -> None:
        before, after = maps_of(tuple(bases))
        whole = denominator * math.prod(basis.denominator for basis in bases)
        mapped = tables if before.is_identity else before.apply(tables.astype(np.float64))
        noisy: FloatArray = scratch.empty(0, mapped.shape, residuals)
        generator.standard_normal(out=noisy)
        noisy *= np.sqrt(noise_variance).reshape(-1, *(1,) * (tables.ndim - 1))
        noisy += mapped if whole == 1 else mapped / whole
        after.apply(noisy, scratch=scratch, out=residuals)

    return answer


def residual_values(
    mechanism: Mechanism,
    tables: list[IntArray],
    groups: BasisGroups,
    noise_variance: FloatArray,
    *,
    progress: Progress | None = None,
) -> FloatArray:
    """The residual answers of all sets, in the order of `FloatResiduals`.

    Args:
        mechanism: answers for a stack of tables.
        tables: the counts of each group, which are released on the way, since they are large.
        groups: the sets by the bases of their attributes.
        noise_variance (m,): of every set, in counts squared.
        progress: called with the number of tables done so far and their total.
    """
    layout, done = AnswerLayout(groups), 0
    values = np.empty(layout.count)
    for number, (shape, members) in enumerate(zip(groups.shapes, groups.members, strict=True)):
        counts, tables[number] = tables[number], NOTHING
        answers = layout.part(values, number)
        step = max(1, BATCH_CELLS // math.prod(shape))
        for first, last in pairwise([*range(0, len(members), step), len(members)]):
            part = slice(first, last)
            mechanism(groups.bases[number], counts[part], noise_variance[members[part]], answers[part])
            if progress is not None:
                progress(done + last, sum(map(len, groups.members)))
        done += len(members)
    return values


def release_generator() -> np.random.Generator:
    """A generator seeded with 256 bits from the operating system.

    Raises:
        NoiseError: it gives none.
    """
    try:
        entropy = os.urandom(32)
    except OSError:
        raise NoiseError("the operating system gives no random bytes; nothing may be released") from None
    return generator_of_entropy(int.from_bytes(entropy))


def generator_of_entropy(entropy: int) -> np.random.Generator:
    """The generator that an integer, at least 0, stands for."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy, pool_size=8)))

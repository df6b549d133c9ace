"""Base mechanisms with continuous Gaussian noise.  For research: floating point stands for exact real noise."""

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.blocks import SetBlock
from residualplanner.gate.measurement.counting import NOTHING, Parents, parents, require_size
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, frozen, untold
from residualplanner.ground.errors import NoiseError
from residualplanner.method.kron.arrays import Scratch
from residualplanner.method.kron.axis_maps import ProductMap
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups

#: How many cells are worked on at a time, so that they stay in the processor's cache.
BATCH_CELLS = 2**16


@dataclass(frozen=True, eq=False)
class ContinuousNoise:
    """The continuous noise with which a plan's sets are measured, as `ExactNoise` is the discrete."""

    plan: Plan  # the sets
    groups: BasisGroups  # the sets by the bases of their attributes
    family: Parents  # which larger set each is summed down from
    seed: int | None  # of the noise; None for random bits of the operating system
    divisors: ClassVar[None] = None  # the numbers are the answers

    @property
    def cost(self) -> Fraction:
        """The pcost of measuring all sets, as the plan states it."""
        return Fraction(self.plan.pcost)

    @property
    def record(self) -> NoiseRecord:
        """How the noise is drawn."""
        return NoiseRecord("gaussian", self.seed, neighbors=self.plan.neighbors.words)

    def answers(self, block: SetBlock, tables: list[IntArray], *, progress: Progress | None = None) -> Residuals:
        """The noisy answers for the sets of a block, as `ExactNoise.answers`; NoiseError without random bytes.

        Normal variates are drawn in the order of the cells.

        Guarantees: the answers of a set with noise variance s have mean ``H v`` and covariance ``s F F^T``, up to
            rounding, where H and F are Kronecker products: of ``Sub`` in both for an attribute that has the subtraction
            basis, of B and the identity for one that has a matrix B.
        Source: eqs. (6), (7) and (26); paper Algorithms 1 and 5.
        """
        groups, layout, scratch, done = block.groups, AnswerLayout(block.groups), Scratch(), 0
        values = np.empty(layout.count)
        for number, (bases, members) in enumerate(zip(groups.bases, groups.members, strict=True)):
            counts, tables[number] = tables[number], NOTHING
            answers = layout.part(values, number)
            before = ProductMap([basis.before_noise for basis in bases])
            after = ProductMap([basis.after_noise for basis in bases])
            whole = self.plan.domain.denominator * math.prod(basis.denominator for basis in bases)
            step = max(1, BATCH_CELLS // math.prod(groups.shapes[number]))
            for first, last in pairwise([*range(0, len(members), step), len(members)]):
                part = slice(first, last)
                mapped = counts[part] if before.is_identity else before.apply(counts[part].astype(np.float64))
                noisy: FloatArray = scratch.empty(0, mapped.shape, answers)
                self._generator.standard_normal(out=noisy)
                noisy *= np.sqrt(self.plan.noise_variances[members[part]]).reshape(-1, *(1,) * (counts.ndim - 1))
                noisy += mapped if whole == 1 else mapped / whole
                after.apply(noisy, scratch=scratch, out=answers[part])
                (progress or untold)(done + last, sum(map(len, groups.members)))
            done += len(members)
        return Residuals(groups, frozen(values))

    @cached_property
    def _generator(self) -> np.random.Generator:
        try:
            entropy = int.from_bytes(os.urandom(32)) if self.seed is None else self.seed
        except OSError:
            raise NoiseError("the operating system gives no random bytes; nothing may be released") from None
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(entropy, pool_size=8)))


def continuous_noise(plan: Plan, seed: int | None) -> ContinuousNoise:
    """The continuous noise of a plan; WorkloadError where the tables are too large to hold."""
    groups = basis_groups(plan.strategy)
    require_size(groups)
    return ContinuousNoise(plan, groups, parents(plan.closure), seed)

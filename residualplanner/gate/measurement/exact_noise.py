"""All that follows from a plan alone about measuring it with discrete noise, checked before anything is charged.

Reads: a plan.  Gives: ExactNoise, which turns counts into noisy answers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.measurement.answers import IntegerResiduals
from residualplanner.gate.measurement.counting import Parents, parents, require_cells, require_denominators
from residualplanner.gate.measurement.discrete import integer_answers
from residualplanner.gate.measurement.dividing import Block
from residualplanner.gate.measurement.lattice import lattice_divisors
from residualplanner.gate.measurement.measurement import groups_of_plan
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.measurement.noisy_answers import RECORDS
from residualplanner.gate.measurement.precision import measured_cost, precision_of, require_affordable, require_drawable
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import require_discrete
from residualplanner.method.strategy.basis_groups import BasisGroups


@dataclass(frozen=True, eq=False, slots=True)
class ExactNoise:
    """The noise with which a plan's sets are measured, and what it costs.

    Attributes:
        plan: the sets.
        groups: the sets by the bases of their attributes.
        family: which larger set each is summed down from.
        precision (m,): of every set's noise.
        divisors: of each group's integers.
        cost: the exact pcost of measuring all sets.
        dtype: of stored answers.
    """

    plan: Plan
    groups: BasisGroups
    family: Parents
    precision: FloatArray
    divisors: tuple[int, ...]
    cost: Fraction
    dtype: ClassVar[type[np.generic]] = np.int64

    def record(self, mark: str) -> NoiseRecord:
        """How the noise is drawn, from random bytes of the source with this mark."""
        return NoiseRecord("discrete", None, mark, self.cost, self.plan.neighbors.words)

    def answers(
        self, block: Block, tables: list[IntArray], source: ByteSource, *, progress: Progress | None = None
    ) -> IntegerResiduals:
        """The noisy answers for the sets of a block.

        Args:
            block: the sets.
            tables: their counts, which are released on the way.
            source: of random bytes.
            progress: called with the number of tables done so far and their total.

        Raises:
            NoiseError: the random bytes or the machine's arithmetic failed a check.
        """
        divisors = tuple(self.divisors[number] for number in block.numbers)
        domain = self.plan.domain
        return integer_answers(
            tables,
            block.groups,
            self.precision,
            divisors,
            source,
            denominator=domain.denominator,
            usual=RECORDS * math.ceil(domain.weight.maximum),
            progress=progress,
        )

    def join(self, flat: IntArray, wide: Mapping[int, NDArray[Any]]) -> IntegerResiduals:
        """Answers from all integers, and those of groups with one that int64 cannot hold."""
        return IntegerResiduals(self.groups, self.divisors, flat, wide)


def exact_noise(plan: Plan) -> ExactNoise:
    """The exact noise of a plan, which may be drawn and is within the plan's budget.

    Raises:
        BudgetError: the budget does not hold for discrete noise, the noise is too small to be drawn, or its exact cost
            exceeds the budget.
        WorkloadError: the tables are too large to hold.

    Source: eqs. (34) to (36) and (44).

    Example:
        >>> from residualplanner.method.domain.domain import Domain
        >>> from residualplanner.method.plan.select import select
        >>> from residualplanner.method.privacy import pcost
        >>> from residualplanner.method.workload.families import marginals
        >>> found = exact_noise(select(marginals(Domain({"sex": 2}), up_to=1), budget=pcost(1)))
        >>> 1 - found.cost < Fraction(1, 10**6)
        True
    """
    require_discrete(plan.budget)
    groups = groups_of_plan(plan)
    require_cells(groups)
    require_denominators(groups)
    precision = precision_of(plan.noise_variances)
    require_drawable(precision)
    cost = measured_cost(plan, precision)
    require_affordable(plan, cost)
    divisors = lattice_divisors(groups, precision, plan.neighbors, plan.domain.denominator)
    return ExactNoise(plan, groups, parents(plan.closure), precision, divisors, cost)

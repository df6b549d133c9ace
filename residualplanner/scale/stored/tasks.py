"""The tasks of a plan: sets that are counted, and get their noise, together at one worker.

Reads: a plan's exact noise, a number of cells.  Gives: Tasks, which follow from these alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.measurement.answers import AnswerLayout, IntegerResiduals
from residualplanner.gate.measurement.blocks import Division, SetBlock, division
from residualplanner.gate.measurement.counting import rows_to_count, with_sums
from residualplanner.gate.measurement.discrete import ExactNoise, exact_noise
from residualplanner.gate.measurement.precision import measured_cost
from residualplanner.gate.measurement.resource_estimate import BYTES_OF_NUMBER
from residualplanner.ground.checks import IntArray
from residualplanner.method.plan.files import plan_bytes
from residualplanner.scale.engines.cluster import CountingTask
from residualplanner.scale.stored.release import StoredRelease

#: How many cells the tables of a task have together at most, unless it is a single maximal set with its subsets.
TASK_CELLS = 2**22
#: Bytes that a task takes besides its answers: a claim, and what is around the answers, in blocks of a disk.
_BYTES_OF_TASK = 2**14
#: The terms, a generation, the manifest, a claim and answers under way, and the folders, as if they were tasks.
_OTHERS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Tasks:
    """All sets of a plan, each in one task.

    Attributes:
        noise: of the plan.
        division: of its sets.
    """

    noise: ExactNoise
    division: Division

    def __len__(self) -> int:
        return len(self.division)

    @property
    def stored_bytes(self) -> int:
        """How many bytes all objects take in a folder, about, if int64 holds the answers."""
        answers = BYTES_OF_NUMBER * AnswerLayout(self.noise.groups).count
        return answers + len(plan_bytes(self.noise.plan)) + _BYTES_OF_TASK * (_OTHERS + len(self))

    @property
    def largest(self) -> SetBlock:
        """The block with the most cells."""
        return self.division.block(int(self.division.cells.argmax()))

    def counting(self, number: int) -> CountingTask:
        """What is counted for a task."""
        noise = self.noise
        rows = rows_to_count(noise.plan.closure, self.division.block(number).groups, noise.family)
        return CountingTask(number, tuple(rows))

    def answers(self, number: int, counted: list[IntArray], source: ByteSource) -> IntegerResiduals:
        """The noisy answers of a task, from what was counted for it; NoiseError as `ExactNoise.answers`."""
        block = self.division.block(number)
        return self.noise.answers(block, with_sums(counted, block.groups, self.noise.family), source)

    def cost(self, numbers: Sequence[int]) -> Fraction:
        """The exact pcost of some tasks, or a bound of it."""
        precision = np.zeros_like(self.noise.precision)
        for number in numbers:
            sets = self.division.members(number)
            precision[sets] = self.noise.precision[sets]
        return measured_cost(self.noise.plan, precision)


def tasks_of_noise(noise: ExactNoise, task_cells: int) -> Tasks:
    """The tasks of a plan."""
    return Tasks(noise, division(noise.groups, noise.family, task_cells))


@lru_cache(maxsize=1)
def tasks_of_release(release: StoredRelease) -> Tasks:
    """The tasks of a release, from the plan in its store; errors as `StoredRelease.plan` and `exact_noise`."""
    return tasks_of_noise(exact_noise(release.plan()), release.terms.task_cells)

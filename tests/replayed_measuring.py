"""Measuring with frozen noise: the same bits for a data set and its neighbor, so that only the record differs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.measurement import Measurement
from residualplanner.measurement import discrete as mechanism
from residualplanner.measurement.discrete_gaussian import InsecureTestBits
from residualplanner.measurement.measure import measure_with_bits
from residualplanner.plan import Plan


class CountedBits(InsecureTestBits):
    """Foreseeable bits that remember how many were asked for at a time."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[int] = []

    def read(self, count: int) -> bytes:
        self.asked.append(count)
        return super().read(count)


@dataclass(frozen=True)
class Replay:
    """What happened in one run.

    Attributes:
        measurement: what left the gate.
        centered: in the order of the work, the centered counts of every stack of tables before their noise was added.
        noise: the noise of each.
        asked: how many random bytes were asked for at a time.
        steps: what was reported of the progress.
    """

    measurement: Measurement
    centered: list[NDArray[Any]]
    noise: list[NDArray[Any]]
    asked: list[int]
    steps: list[tuple[int, int]]


def replay(plan: Plan, data: object, seed: int, monkeypatch: Any) -> Replay:
    """Measure with the bits of ``seed``, and keep what nobody else may see."""
    centered, noise, steps, bits = [], [], [], CountedBits(seed)
    centered_tables, noisy_answers = mechanism.centered_tables, mechanism.noisy_answers

    def keep_centered(tables: NDArray[Any], **options: Any) -> NDArray[Any]:
        result = centered_tables(tables, **options)
        centered.append(result.copy())
        return result

    def keep_noise(counts: NDArray[Any], drawn: NDArray[Any], **options: Any) -> NDArray[Any]:
        noise.append(np.array(drawn))
        return noisy_answers(counts, drawn, **options)

    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "centered_tables", keep_centered)
        patch.setattr(mechanism, "noisy_answers", keep_noise)
        found = measure_with_bits(plan, data, bits, progress=lambda done, total: steps.append((done, total)))
    return Replay(found, centered, noise, bits.asked, steps)

"""Measuring with frozen noise: known numbers, or the same bits for a data set and its neighbor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.measurement import Measurement
from residualplanner.measurement import discrete as mechanism
from residualplanner.measurement.discrete_gaussian import InsecureTestBits
from residualplanner.measurement.measure import measure_with_bits
from residualplanner.plan import Plan


def integers_of(measurement: Measurement) -> dict[tuple[int, ...], NDArray[Any]]:
    """The whole numbers of each set, flat, by its members."""
    answers = measurement.residuals
    groups = answers.groups
    return {
        members: answers.stored(groups.group[number])[groups.row[number] : groups.row[number] + 1].ravel()
        for number, members in enumerate(measurement.plan.closure)
    }


def noise_frozen(monkeypatch: Any) -> None:
    """Draw the squares of 1, 2, 3, .. in place of random numbers."""
    drawn = 0

    def flat(_scales: Any, sizes: Any, _source: Any) -> NDArray[Any]:
        nonlocal drawn
        total = int(np.sum(sizes))
        drawn += total
        return np.arange(drawn - total + 1, drawn + 1) ** 2

    def arrays(_scales: Any, sizes: Any, _source: Any) -> list[NDArray[Any]]:
        return [flat(None, size, None).astype(object) for size in np.asarray(sizes).tolist()]

    monkeypatch.setattr(mechanism, "THREADS", 10**6)  # fewer batches than threads are drawn in order
    monkeypatch.setattr(mechanism, "draw_flat", flat)
    monkeypatch.setattr(mechanism, "draw_arrays", arrays)


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

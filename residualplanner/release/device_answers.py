"""Noisy answers where tables are computed from them.

Only noisy answers go to a device here.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import FloatResiduals, IntegerResiduals
from residualplanner.ground.checks import require_type
from residualplanner.method.kron import Array
from residualplanner.release.devices import Device

#: The bytes of an answer on a device.
_BYTES = 8
#: How many groups are kept at most, however small they are.
_KEPT = 4096


class DeviceAnswers:
    """The residual answers of a measurement on a device, in memory of bounded size.

    The groups of fewest answers are kept there, from their first use on, as many as fit into the device's ``memory``;
    of the others the answers that a batch needs are sent with it.

    Args:
        residuals: noisy answers, and nothing else.
        device: where they are needed.

    Raises:
        ArgumentError: ``residuals`` are not noisy answers.
    """

    def __init__(self, residuals: IntegerResiduals | FloatResiduals, device: Device) -> None:
        remedy = "only noisy answers go to a device; give the residuals of a Measurement"
        require_type("DeviceAnswers", "residuals", residuals, (IntegerResiduals, FloatResiduals), remedy)
        self._residuals, self._device = residuals, device
        self._is_kept = _smallest_within(np.diff(residuals.starts), device.memory // _BYTES)
        self._are_all_kept = bool(self._is_kept.all())
        self._kept = lru_cache(_KEPT)(self._sent)
        self._numbers = lru_cache(_KEPT)(self._new_numbers)

    def divisor(self, group: int) -> int:
        """What the numbers of a group are to be divided by."""
        # Floats are the answers themselves.
        return self._residuals.divisor(group) if self._numbers(group).dtype == np.int64 else 1

    def blocks(self, groups: Sequence[int], rows: NDArray[np.int64]) -> tuple[list[Array], NDArray[np.int64]]:
        """Blocks on the device, and the rows of them that some tables need.

        Args:
            groups (j,): the groups that the tables need, in the order of `tables_of_residuals`.
            rows (b, j): which rows of these.

        Returns:
            The blocks (g, m_1, .., m_k), and which of their rows are meant, (b, j).
        """
        if self._are_all_kept or self._is_kept[groups].all():
            return [self._kept(group) for group in groups], rows
        found, chosen = [], rows.copy()
        for number, group in enumerate(groups):
            if self._is_kept[group]:
                found.append(self._kept(group))
            else:
                found.append(self._device.put(self._numbers(group)[rows[:, number]]))
                chosen[:, number] = np.arange(len(rows))
        return found, chosen

    def _sent(self, group: int) -> Array:
        return self._device.put(self._numbers(group))

    def _new_numbers(self, group: int) -> NDArray[np.int64] | NDArray[np.float64]:
        """The numbers of a group, int64 or, where int64 cannot hold them, the answers as floats, rounded once."""
        stored = self._residuals.stored(group)
        return self._residuals.block(group) if stored.dtype == np.object_ else stored


def _smallest_within(sizes: NDArray[np.int64], room: int) -> NDArray[np.bool_]:
    """Which of these are kept if the smallest come first and all together must not exceed ``room``, (m,)."""
    if sizes.sum() <= room:
        return np.ones(len(sizes), dtype=np.bool_)
    by_size = np.argsort(sizes, kind="stable")
    is_kept = np.zeros(len(sizes), dtype=np.bool_)
    is_kept[by_size] = np.cumsum(sizes[by_size]) <= room
    return is_kept

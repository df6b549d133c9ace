"""Noisy answers that tables follow from, whether one measurement gives them or several together."""

from collections.abc import Sequence
from typing import Protocol

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.method.plan.plan import Plan


class NoisyAnswers(Protocol):
    """Noisy answers that tables follow from: of one measurement, the averages of several, or those of a folder."""

    @property
    def plan(self) -> Plan:
        """Which sets of attributes were measured, with how much noise."""

    @property
    def residuals(self) -> Residuals:
        """The answers."""

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn."""

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Those that the answers are from."""

    def with_residuals(self, residuals: Residuals) -> "NoisyAnswers":
        """The same with other answers."""


def as_one(measurements: Sequence[Measurement]) -> NoisyAnswers:
    """A single measurement as it is, several combined; errors as those of `combine`."""
    if len(measurements) == 1:
        return measurements[0]
    from residualplanner.gate.measurement.averages import combine

    return combine(measurements)

"""Discrete Gaussian noise, exact in distribution, from the operating system's random bits.

Floats propose, and decide only what no rounding can change; exact arithmetic decides the rest: docs/exact-noise.md.
"""

from residualplanner.gate.discrete_gaussian.bits import ByteSource, InsecureTestBits, OperatingSystemBits
from residualplanner.gate.discrete_gaussian.drawing import draw_flat, exponential_choices

__all__ = [
    "ByteSource",
    "InsecureTestBits",
    "OperatingSystemBits",
    "draw_flat",
    "exponential_choices",
]

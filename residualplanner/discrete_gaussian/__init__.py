"""Discrete Gaussian noise, exact in distribution, from the operating system's random bits."""

from residualplanner.discrete_gaussian.bits import ByteSource, InsecureTestBits, NoiseError, OperatingSystemBits
from residualplanner.discrete_gaussian.drawing import discrete_gaussian, discrete_gaussian_flat, draw_arrays, draw_flat
from residualplanner.discrete_gaussian.scales import Scales

__all__ = [
    "ByteSource",
    "InsecureTestBits",
    "NoiseError",
    "OperatingSystemBits",
    "Scales",
    "discrete_gaussian",
    "discrete_gaussian_flat",
    "draw_arrays",
    "draw_flat",
]

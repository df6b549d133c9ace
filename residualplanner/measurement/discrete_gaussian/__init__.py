"""Discrete Gaussian noise, exact in distribution, from the operating system's random bits."""

from residualplanner.measurement.discrete_gaussian.bits import (
    ByteSource,
    InsecureTestBits,
    NoiseError,
    OperatingSystemBits,
)
from residualplanner.measurement.discrete_gaussian.drawing import discrete_gaussian, discrete_gaussian_flat
from residualplanner.measurement.discrete_gaussian.scales import Scales, fits_int64

__all__ = [
    "ByteSource",
    "InsecureTestBits",
    "NoiseError",
    "OperatingSystemBits",
    "Scales",
    "discrete_gaussian",
    "discrete_gaussian_flat",
    "fits_int64",
]

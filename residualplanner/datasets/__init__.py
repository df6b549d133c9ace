"""Data that ship with the package, for the demo and the documentation."""

from residualplanner.datasets.adult import adult

__all__ = [
    "adult",
]

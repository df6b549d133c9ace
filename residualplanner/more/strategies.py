"""Strategies and bases that researchers compare with those that `select` finds."""

from residualplanner.method.bases.basis import Basis
from residualplanner.method.strategy.strategy import (
    Strategy,
    constant_strategy,
    subtraction_strategy,
    varying_strategy,
)
from residualplanner.more.searches.basis_options import orthogonal_residuals

__all__ = [
    "Basis",
    "Strategy",
    "constant_strategy",
    "orthogonal_residuals",
    "subtraction_strategy",
    "varying_strategy",
]

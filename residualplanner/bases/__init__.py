"""The residual basis of one attribute, and the numbers that privacy cost and variance are products of."""

from residualplanner.bases.basis import Basis, basis_codes, integer_basis, subtraction_basis
from residualplanner.bases.integer_twin import IntegerTwin, integer_twin
from residualplanner.bases.numbers import ResidualNumbers, residual_numbers, subtraction_numbers
from residualplanner.bases.optimal import Directions, ResidualBasis, asked_directions, optimal_residuals
from residualplanner.bases.orthogonal import orthogonal_residuals
from residualplanner.bases.rounding import rounded_matrix
from residualplanner.bases.shares import (
    cell_covariances,
    is_alike,
    mean_variance_factors,
    row_variance_factors,
    spans_kind,
)

__all__ = [
    "Basis",
    "Directions",
    "IntegerTwin",
    "ResidualBasis",
    "ResidualNumbers",
    "asked_directions",
    "basis_codes",
    "cell_covariances",
    "integer_basis",
    "integer_twin",
    "is_alike",
    "mean_variance_factors",
    "optimal_residuals",
    "orthogonal_residuals",
    "residual_numbers",
    "rounded_matrix",
    "row_variance_factors",
    "spans_kind",
    "subtraction_basis",
    "subtraction_numbers",
]

"""The residual basis of one attribute, and the numbers that privacy cost and variance are products of."""

from residualplanner.bases.basis import Basis, basis_codes, integer_basis, subtraction_basis
from residualplanner.bases.integer_twin import IntegerTwin, integer_twin
from residualplanner.bases.optimal import ResidualBasis, optimal_residuals
from residualplanner.bases.rounding import rounded_matrix
from residualplanner.bases.subtraction import ResidualNumbers, cell_covariances, subtraction_numbers

__all__ = [
    "Basis",
    "IntegerTwin",
    "ResidualBasis",
    "ResidualNumbers",
    "basis_codes",
    "cell_covariances",
    "integer_basis",
    "integer_twin",
    "optimal_residuals",
    "rounded_matrix",
    "subtraction_basis",
    "subtraction_numbers",
]

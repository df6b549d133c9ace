"""The residual basis of one attribute: what is measured of it, and its factors of privacy cost and variances.

Reads: integer matrices, or Gram matrices of queries.  Gives: bases; the best one for given weights; numbers of many.
`subtraction_basis`, `integer_basis` and `nested_basis` make the sorts of `Basis`; nothing outside of this folder tells
them apart.
With T the row of ones above a residual matrix and ``[u | G]`` its pseudo-inverse, a query W is ``W (u 1^T + G S)``.
Source: eqs. (5), (8), (11), (12), (23) to (31), (35) and (36).
"""

from residualplanner.bases.basis import Basis, basis_codes
from residualplanner.bases.basis_problem import Directions, ResidualBasis
from residualplanner.bases.contrasts import Contrasts
from residualplanner.bases.integer_twin import integer_twin
from residualplanner.bases.inverse import inverse_parts
from residualplanner.bases.matrix import integer_basis
from residualplanner.bases.nested import NestedBasis, nested_basis, nested_basis_of_array
from residualplanner.bases.nested_maps import NestedLayer, float_maps, row_factors, squared_lengths
from residualplanner.bases.numbers import ResidualNumbers, residual_numbers, subtraction_numbers
from residualplanner.bases.optimal import optimal_residuals, weighted_directions, zero_sum_basis
from residualplanner.bases.orthogonal import orthogonal_residuals
from residualplanner.bases.rounding import rounded_matrix
from residualplanner.bases.subtraction import subtraction_basis

__all__ = [
    "Basis",
    "Contrasts",
    "Directions",
    "NestedBasis",
    "NestedLayer",
    "ResidualBasis",
    "ResidualNumbers",
    "basis_codes",
    "float_maps",
    "integer_basis",
    "integer_twin",
    "inverse_parts",
    "nested_basis",
    "nested_basis_of_array",
    "optimal_residuals",
    "orthogonal_residuals",
    "residual_numbers",
    "rounded_matrix",
    "row_factors",
    "squared_lengths",
    "subtraction_basis",
    "subtraction_numbers",
    "weighted_directions",
    "zero_sum_basis",
]

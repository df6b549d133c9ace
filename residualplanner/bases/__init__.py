"""The residual basis of one attribute, and the numbers that privacy cost and variance are products of."""

from residualplanner.bases.integer_twin import IntegerTwin, integer_twin
from residualplanner.bases.subtraction import ResidualNumbers, cell_covariances, subtraction_numbers

__all__ = ["IntegerTwin", "ResidualNumbers", "cell_covariances", "integer_twin", "subtraction_numbers"]

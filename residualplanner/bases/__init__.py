"""The residual basis of one attribute, and the numbers that privacy cost and variance are products of."""

from residualplanner.bases.subtraction import ResidualNumbers, cell_covariances, subtraction_numbers

__all__ = ["ResidualNumbers", "cell_covariances", "subtraction_numbers"]

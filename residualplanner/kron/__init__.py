"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.kron.arrays import Scratch
from residualplanner.kron.integers import centered_tables, differences_of_tables, integer_products
from residualplanner.kron.residuals import residuals_of_tables, tables_of_residuals, tables_of_tensors

__all__ = [
    "Scratch",
    "centered_tables",
    "differences_of_tables",
    "integer_products",
    "residuals_of_tables",
    "tables_of_residuals",
    "tables_of_tensors",
]

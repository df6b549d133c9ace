"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.kron.arrays import Scratch
from residualplanner.kron.residuals import residuals_of_tables, tables_of_residuals, tables_of_tensors

__all__ = ["Scratch", "residuals_of_tables", "tables_of_residuals", "tables_of_tensors"]

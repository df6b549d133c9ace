"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.kron.arrays import Scratch
from residualplanner.kron.axis_maps import AxisMap, ProductMap, keeping, matrix_map
from residualplanner.kron.integers import differences_of_tables, integer_products
from residualplanner.kron.residuals import (
    rebuilding,
    residuals_of_tables,
    subtracting,
    tables_of_residuals,
    tables_of_tensors,
)
from residualplanner.kron.two_words import float_identifies, joined, products_modulo

__all__ = [
    "AxisMap",
    "ProductMap",
    "Scratch",
    "differences_of_tables",
    "float_identifies",
    "integer_products",
    "joined",
    "keeping",
    "matrix_map",
    "products_modulo",
    "rebuilding",
    "residuals_of_tables",
    "subtracting",
    "tables_of_residuals",
    "tables_of_tensors",
]

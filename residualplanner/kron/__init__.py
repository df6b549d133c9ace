"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.kron.arrays import Scratch
from residualplanner.kron.axis_maps import AxisMap, ProductMap, keeping, matrix_map
from residualplanner.kron.double_word import combine_words, float_identifies, products_modulo
from residualplanner.kron.integers import differences_of_tables, integer_products
from residualplanner.kron.residuals import (
    rebuilding,
    subtracting,
    tables_of_residuals,
    tensors_of_residuals,
)

__all__ = [
    "AxisMap",
    "ProductMap",
    "Scratch",
    "combine_words",
    "differences_of_tables",
    "float_identifies",
    "integer_products",
    "keeping",
    "matrix_map",
    "products_modulo",
    "rebuilding",
    "subtracting",
    "tables_of_residuals",
    "tensors_of_residuals",
]

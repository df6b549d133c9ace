"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.method.kron.arrays import (
    Array,
    SameArray,
    Scratch,
    add_up_into,
    cumulative_sums,
    empty_floats,
    namespace,
    read_only,
    sparse_product,
    take,
)
from residualplanner.method.kron.axis_maps import (
    AxisMap,
    ProductMap,
    keeping,
    matrix_map,
    rebuilding,
    rebuilding_differences,
    subtracting,
    tables_of_residuals,
    tensors_of_residuals,
)
from residualplanner.method.kron.exact_products import dense_integers
from residualplanner.method.kron.integers import IntegerMap, differences_of_tables, integer_products

__all__ = [
    "Array",
    "AxisMap",
    "IntegerMap",
    "ProductMap",
    "SameArray",
    "Scratch",
    "add_up_into",
    "cumulative_sums",
    "dense_integers",
    "differences_of_tables",
    "empty_floats",
    "integer_products",
    "keeping",
    "matrix_map",
    "namespace",
    "read_only",
    "rebuilding",
    "rebuilding_differences",
    "sparse_product",
    "subtracting",
    "tables_of_residuals",
    "take",
    "tensors_of_residuals",
]

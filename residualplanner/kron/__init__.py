"""One linear map per axis, batched over stacks of equal-shaped tables, for libraries of the array API standard."""

from residualplanner.kron.arrays import (
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
from residualplanner.kron.axis_maps import AxisMap, ProductMap, keeping, matrix_map
from residualplanner.kron.devices import HOST, Device, cuda_device, device_of
from residualplanner.kron.double_word import combine_words, float_identifies, products_modulo
from residualplanner.kron.integer_maps import DenseIntegers, IntegerMap
from residualplanner.kron.integers import differences_of_tables, integer_products
from residualplanner.kron.nested import Layer, NestedIntegers, NestedMaps, layer_of, nested_rows
from residualplanner.kron.residuals import (
    rebuilding,
    rebuilding_differences,
    subtracting,
    tables_of_residuals,
    tensors_of_residuals,
)
from residualplanner.kron.thresholds import (
    require_threshold,
    threshold_count,
    threshold_distance,
    threshold_factor,
    threshold_map,
    threshold_probability,
)

__all__ = [
    "HOST",
    "Array",
    "AxisMap",
    "DenseIntegers",
    "Device",
    "IntegerMap",
    "Layer",
    "NestedIntegers",
    "NestedMaps",
    "ProductMap",
    "SameArray",
    "Scratch",
    "add_up_into",
    "combine_words",
    "cuda_device",
    "cumulative_sums",
    "device_of",
    "differences_of_tables",
    "empty_floats",
    "float_identifies",
    "integer_products",
    "keeping",
    "layer_of",
    "matrix_map",
    "namespace",
    "nested_rows",
    "products_modulo",
    "read_only",
    "rebuilding",
    "rebuilding_differences",
    "require_threshold",
    "sparse_product",
    "subtracting",
    "tables_of_residuals",
    "take",
    "tensors_of_residuals",
    "threshold_count",
    "threshold_distance",
    "threshold_factor",
    "threshold_map",
    "threshold_probability",
]

"""Tables from residual answers by one CUDA kernel, which makes slabs of them in shared memory, eq. (13).

What a launch needs follows from the maps of the tables' axes alone, and is worked out without a device.
"""

from residualplanner.scale.cuda.fused import (
    AXIS_KERNEL,
    KERNEL,
    fit_on_device,
    fused_tables,
    kernel_sha256,
    kernel_source,
    tables_on_cuda,
)
from residualplanner.scale.cuda.launches import SM_80, SM_90, fits, layout_of

__all__ = [
    "AXIS_KERNEL",
    "KERNEL",
    "SM_80",
    "SM_90",
    "fit_on_device",
    "fits",
    "fused_tables",
    "kernel_sha256",
    "kernel_source",
    "layout_of",
    "tables_on_cuda",
]

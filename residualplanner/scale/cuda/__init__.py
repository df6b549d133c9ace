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
from residualplanner.scale.cuda.launches import (
    AXIS_THREADS,
    SM_80,
    SM_90,
    AxisLaunch,
    Launch,
    Limits,
    SlabLayout,
    SubsetAnswers,
    axis_launches_of,
    fits,
    launch_of,
    layout_of,
)

__all__ = [
    "AXIS_KERNEL",
    "AXIS_THREADS",
    "KERNEL",
    "SM_80",
    "SM_90",
    "AxisLaunch",
    "Launch",
    "Limits",
    "SlabLayout",
    "SubsetAnswers",
    "axis_launches_of",
    "fit_on_device",
    "fits",
    "fused_tables",
    "kernel_sha256",
    "kernel_source",
    "launch_of",
    "layout_of",
    "tables_on_cuda",
]

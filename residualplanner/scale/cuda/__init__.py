"""Tables from residual answers by one CUDA kernel, which makes slabs of them in shared memory.

Reads: residual answers on a device, and the maps of the tables' axes.  Gives: tables there, eq. (13).
What a launch needs follows from the maps alone, and is worked out without a device: SlabLayout, Launch, AxisLaunch.
"""

from residualplanner.scale.cuda.fused import fit_on_device, fused_tables, tables_on_cuda
from residualplanner.scale.cuda.launches import (
    AXIS_THREADS,
    AxisLaunch,
    Launch,
    SubsetAnswers,
    axis_launches_of,
    launch_of,
)
from residualplanner.scale.cuda.layouts import SM_80, SM_90, Limits, SlabLayout, fits, layout_of
from residualplanner.scale.cuda.source import AXIS_KERNEL, KERNEL, kernel_sha256, kernel_source

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

"""Tables from residual answers by one CUDA kernel, and what can be said about its launches without a device."""

from residualplanner.kron.cuda.fused import fit_on_device, fused_tables, tables_on_cuda
from residualplanner.kron.cuda.launches import AXIS_THREADS, AxisLaunch, Launch, Source, axis_launches_of, launch_of
from residualplanner.kron.cuda.layouts import SM_80, SM_90, Layout, Limits, fits, layout_of
from residualplanner.kron.cuda.source import AXIS_KERNEL, KERNEL, kernel_sha256, kernel_source

__all__ = [
    "AXIS_KERNEL",
    "AXIS_THREADS",
    "KERNEL",
    "SM_80",
    "SM_90",
    "AxisLaunch",
    "Launch",
    "Layout",
    "Limits",
    "Source",
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

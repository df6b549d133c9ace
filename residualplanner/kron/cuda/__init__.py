"""Tables from residual answers by one CUDA kernel, and what can be said about its launches without a device."""

from residualplanner.kron.cuda.fused import fit_on_device, fused_tables
from residualplanner.kron.cuda.launches import Launch, Source, launch_of
from residualplanner.kron.cuda.layouts import SM_80, SM_90, Layout, Limits, fits, layout_of
from residualplanner.kron.cuda.source import KERNEL, kernel_sha256, kernel_source

__all__ = [
    "KERNEL",
    "SM_80",
    "SM_90",
    "Launch",
    "Layout",
    "Limits",
    "Source",
    "fit_on_device",
    "fits",
    "fused_tables",
    "kernel_sha256",
    "kernel_source",
    "launch_of",
    "layout_of",
]

"""Tables from residual answers by the fused kernel, on a device of NVIDIA's.

CuPy is imported when a function here needs it, not before.
"""

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.errors import needing
from residualplanner.method.kron.arrays import Array, Scratch
from residualplanner.method.kron.axis_maps import ProductMap, tables_of_residuals
from residualplanner.scale.cuda import launches

#: How CuPy compiles the kernel.
OPTIONS = ("--std=c++17",)
#: The kernel that makes tables or slabs of them, and the one that maps an axis along which tables were cut.
KERNEL = "fused_tables"
AXIS_KERNEL = "map_axis"


def kernel_source() -> str:
    """The source of the kernels, CUDA C++, from the file that is shipped beside this module."""
    return files(__package__).joinpath(f"{KERNEL}.cu").read_text(encoding="utf-8")


def fused_tables(
    blocks: Sequence[Array], rows: NDArray[np.int64], *, maps: ProductMap, divisors: Sequence[int] | None = None
) -> Array:
    """The tables whose residuals are given, as `tables_of_residuals` makes them, in one pass through device memory.

    Blocks (2**k,) are CuPy arrays on the current device, in C order, of int64, or of float64, which are the residuals
    themselves, with the divisor 1; TypeError for others.  That ``rows`` (b, 2**k) are rows of them is not checked.  The
    tables (b, n_1, .., n_k) are float64, on the device; the work may still be under way on its current stream, and the
    blocks must not be written over before it is done.  ValueError where the maps do not fit on the
    device.

    Guarantees: the numbers of `tables_of_residuals` but for the order in which sums are rounded: they differ by a few
        units in the last place of the largest answer.
    Cost: 16 bytes of device memory traffic for each cell, 24 more for each axis of a table that is cut.  A launch takes
        as long as its preparation at some 10**7 cells: give it more.
    Source: eqs. (10), (13) and (25).
    """
    cupy = _cupy()
    device = cupy.cuda.Device().id
    layout = launches.layout_of(maps, _limits(device))
    launches.require_answers(layout, [block.shape[1:] for block in blocks], rows.shape)
    by = [1] * len(blocks) if divisors is None else divisors
    sources = [_answers(block, divisor) for block, divisor in zip(blocks, by, strict=True)]
    estimates = cupy.empty((len(rows), *layout.columns[: layout.cut], *layout.rows), dtype=cupy.float64)
    if estimates.size:
        launch = launches.launch_of(layout, sources, len(rows))
        described, on_device = _sent(launch.description), cupy.asarray(rows, dtype=cupy.int64, order="C")
        arguments = (described, on_device, np.int64(launch.slabs), estimates)
        _kernel(KERNEL, device)((launch.blocks,), (launch.threads,), arguments, shared_mem=launch.shared_bytes)
        for step in layout.later_passes:
            estimates = _map_axis(step, len(rows), estimates)
    return estimates.reshape(len(rows), *maps.rows)


def tables_on_cuda(
    blocks: Sequence[Array],
    rows: NDArray[np.int64],
    *,
    maps: ProductMap,
    divisors: Sequence[int] | None = None,
    scratch: Scratch | None = None,
) -> Array:
    """The tables whose residuals are given: by `fused_tables` where they fit, else by `tables_of_residuals`.

    Arguments and result as in these two; the choice follows from the shapes of the maps and the device alone.
    """
    if launches.fits(maps, _limits(_cupy().cuda.Device().id)):
        return fused_tables(blocks, rows, maps=maps, divisors=divisors)
    return tables_of_residuals(blocks, rows, maps=maps, divisors=divisors, scratch=scratch)


def _map_axis(step: launches.Pass, tables: int, stack: Array) -> Array:
    cupy = _cupy()
    axis, outer = step.axis, tables * step.outer
    sizes = tuple(np.int64(size) for size in (axis.columns, axis.rows, step.inner, outer))
    if step.has_closed_form:
        matrix, result = np.uint64(0), stack
    else:
        matrix = _sent(launches.entries(step))
        result = cupy.empty(outer * axis.rows * step.inner, dtype=cupy.float64)
    blocks = launches.blocks_of(tables * step.lines, launches.AXIS_THREADS)
    _kernel(AXIS_KERNEL, cupy.cuda.Device().id)((blocks,), (launches.AXIS_THREADS,), (matrix, *sizes, stack, result))
    return result


def _kernel(name: str, device: int) -> Any:
    kernel = _module(device).get_function(name)
    kernel.max_dynamic_shared_size_bytes = _limits(device).shared_bytes
    return kernel


@lru_cache(maxsize=16)
def _module(device: int) -> Any:
    del device  # only to tell modules of several devices apart
    return _cupy().RawModule(code=kernel_source(), options=OPTIONS, backend="nvrtc")


@lru_cache(maxsize=16)
def _limits(device: int) -> launches.Limits:
    attributes = _cupy().cuda.Device(device).attributes
    return launches.Limits(
        threads=attributes["MaxThreadsPerBlock"], shared_bytes=attributes["MaxSharedMemoryPerBlockOptin"]
    )


def _sent(words: NDArray[np.int64]) -> Array:
    """What a kernel reads, on the current device, in the order of the current stream."""
    return _on_device(words.tobytes(), _cupy().cuda.Device().id, _cupy().cuda.get_current_stream().ptr)


@lru_cache(maxsize=256)
def _on_device(words: bytes, device: int, stream: int) -> Array:
    """What many batches have in common, sent once; for each stream, as copies are in no order with other streams."""
    del device, stream  # only to tell copies apart
    return _cupy().asarray(np.frombuffer(words, dtype=np.int64))


def _answers(block: Array, divisor: int) -> launches.SubsetAnswers:
    is_integer = block.dtype == np.int64
    if not (is_integer or (block.dtype == np.float64 and divisor == 1)) or not block.flags.c_contiguous:
        raise TypeError(f"residuals must be int64, or float64 with the divisor 1, and in C order, got {block.dtype}")
    return block.data.ptr, divisor if is_integer else 0


def _cupy() -> Any:
    with needing("the fused kernel needs CuPy for your version of CUDA", "gpu"):
        import cupy
    return cupy

"""Tables from residual answers by the fused kernel, on a device of NVIDIA's.

Reads: CuPy arrays.  Gives: a CuPy array.  CuPy is imported when a function here is called, not before.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.errors import MissingExtraError
from residualplanner.kron.arrays import Array
from residualplanner.kron.axis_maps import ProductMap
from residualplanner.kron.cuda.launches import Launch, Source, launch_of, require_answers
from residualplanner.kron.cuda.layouts import Limits, fits, layout_of
from residualplanner.kron.cuda.source import KERNEL, kernel_source

#: How CuPy compiles the kernel.
OPTIONS = ("--std=c++17",)


def fused_tables(
    blocks: Sequence[Array], rows: NDArray[np.int64], *, maps: ProductMap, divisors: Sequence[int] | None = None
) -> Array:
    """The tables whose residuals are given, as `tables_of_residuals` makes them, in one pass through device memory.

    Args:
        blocks (2**k,): CuPy arrays on the current device, in C order: block j (g_j, ..) holds residuals of sets of
            attributes of the same bases, int64 or float64; it has an axis of m_i answers for every i whose bit in j is
            set (bit 0 is the first attribute).
        rows (b, 2**k): for each table, which rows of the blocks are its own; on the host or on the device.
        maps: from a tensor, whose axes have the total and then the m_i answers, to a table; axes of one entry may be
            added.  They `fit_on_device`.
        divisors (2**k,): what the residuals of each block are divided by; omitted, 1.

    Returns:
        The tables, (b, n_1, .., n_k), float64, on the current device; the work may still be under way on its current
        stream, and the blocks must not be written over before it is done.

    Raises:
        MissingExtraError: CuPy is not installed.
        ValueError: the tables do not fit, there is not one block for each subset, or one has another shape.
        TypeError: a block is neither int64 nor float64, or not in C order.

    Guarantees: the same numbers as those of `tables_of_residuals` but for the order in which sums are rounded.
    Cost: 16 bytes of device memory traffic for each cell.
    Source: spec eqs. (10), (13) and (25).
    """
    if not fit_on_device(maps):
        raise ValueError(f"tables of shape {maps.rows} are beyond the shared memory of the device; ask fit_on_device")
    cupy = _cupy()
    layout = layout_of(maps)
    by = [1] * len(blocks) if divisors is None else divisors
    require_answers(layout, [block.shape[1:] for block in blocks], rows.shape)
    launch = launch_of(layout, [_source(*pair) for pair in zip(blocks, by, strict=True)], len(rows))
    estimates = cupy.empty((len(rows), *maps.rows), dtype=cupy.float64)
    if launch.blocks:
        _run(launch, cupy.asarray(rows, dtype=cupy.int64, order="C"), estimates)
    return estimates


def fit_on_device(maps: ProductMap) -> bool:
    """Whether `fused_tables` makes the tables of ``maps`` on the current device; see `fits`.

    Raises:
        MissingExtraError: CuPy is not installed.
    """
    return fits(maps, _limits(_cupy().cuda.Device().id))


def _run(launch: Launch, rows: Array, estimates: Array) -> None:
    """Queue one launch on the current stream."""
    cupy = _cupy()
    device = cupy.cuda.Device().id
    arguments = (_on_device(launch.description.tobytes(), device), rows, np.int64(len(rows)), estimates)
    _kernel(device)((launch.blocks,), (launch.threads,), arguments, shared_mem=launch.shared_bytes)


@lru_cache(maxsize=16)
def _kernel(device: int) -> Any:
    """The kernel, compiled for a device and allowed all shared memory that a block can ask for."""
    kernel = _cupy().RawKernel(kernel_source(), KERNEL, options=OPTIONS, backend="nvrtc")
    kernel.max_dynamic_shared_size_bytes = _limits(device).shared_bytes
    return kernel


@lru_cache(maxsize=16)
def _limits(device: int) -> Limits:
    attributes = _cupy().cuda.Device(device).attributes
    return Limits(
        threads=attributes["MaxThreadsPerBlock"],
        shared_bytes=attributes["MaxSharedMemoryPerBlockOptin"],
    )


@lru_cache(maxsize=256)
def _on_device(description: bytes, device: int) -> Array:
    """A description that many batches have in common, sent once."""
    del device  # only to tell copies on several devices apart
    return _cupy().asarray(np.frombuffer(description, dtype=np.int64))


def _source(block: Array, divisor: int) -> Source:
    if block.dtype not in (np.int64, np.float64) or not block.flags.c_contiguous:
        raise TypeError(f"residuals must be int64 or float64 and in C order, got {block.dtype}")
    return Source(block.data.ptr, block.dtype == np.int64, divisor)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        message = "a CUDA device needs CuPy: pip install 'residualplanner[gpu]'"
        raise MissingExtraError(message, extra="gpu") from None
    return cupy

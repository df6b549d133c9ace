"""Where tables are computed: on the host by NumPy, or on a device by another library.

Noisy answers and public matrices go to a device, estimates come back; records, counts and exact integers have no
way there: nothing that has seen them knows this module.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, value_text
from residualplanner.ground.errors import ArgumentError, DeviceError, needing
from residualplanner.method.kron.arrays import Array
from residualplanner.method.kron.axis_maps import tables_of_residuals

#: On a GPU so many times as many cells are computed at a time as on the host, where they have to fit into a cache.
_CUDA_BATCH = 512


@dataclass(frozen=True, eq=False, slots=True)
class Device:
    """Where tables are computed, by which library, and how they come back.

    Attributes:
        name: in words, such as "cuda".
        xp: the namespace of its arrays, which follows the array API standard.
        unit: the device, as ``xp.asarray`` takes it.
        to_host: gives an array on the device as a NumPy array of the same numbers.
        memory: how many bytes of answers are kept on it from one batch to the next.
        batch_factor: how many times as many cells as on the host are computed at a time.
        tables: how tables follow from residuals on it; called as ``tables_of_residuals`` is.
    """

    name: str
    xp: Any = field(repr=False)
    unit: Any = field(repr=False)
    to_host: Callable[[Array], FloatArray] = field(repr=False)
    memory: int
    batch_factor: int = 1
    tables: Callable[..., Array] = field(default=tables_of_residuals, repr=False)

    def put(self, values: NDArray[Any]) -> Array:
        """``values`` on the device; the array itself where that is the host."""
        return self.xp.asarray(values, device=self.unit)


HOST = Device("host", np, "cpu", lambda array: array, memory=sys.maxsize)


def device_of(device: Device | str | None) -> Device:
    """The device of this name: None is the host, "cuda" CuPy's current device; errors of `cuda_device`."""
    if isinstance(device, Device):
        return device
    if device is None:
        return HOST
    if device != "cuda":
        raise ArgumentError(f'device must be None (NumPy), "cuda" or a Device, got {value_text(device)}')
    return cuda_device()


def cuda_device(memory: int | None = None) -> Device:
    """CuPy's current device, ``cupy.cuda.Device()``.

    Args:
        memory: how many bytes of answers are kept on it from one batch to the next; half of what is free now when
            omitted.  Answers beyond that are sent again for each batch that needs them.

    Raises:
        MissingExtraError: CuPy is not installed.
        DeviceError: CuPy finds no device.
    """
    with needing('device="cuda" needs CuPy for your version of CUDA', "gpu"):
        import cupy
        from array_api_compat import cupy as xp
    try:
        unit = cupy.cuda.Device()
        free, _ = unit.mem_info
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f'device="cuda" needs a CUDA device, and CuPy finds none ({error}); check that nvidia-smi lists one, or '
            "leave device out to compute with NumPy"
        ) from error
    from residualplanner.scale.cuda.fused import tables_on_cuda  # here, as only those who have a device need it

    kept = free // 2 if memory is None else memory
    return Device("cuda", xp, unit, cupy.asnumpy, kept, _CUDA_BATCH, tables_on_cuda)

"""As much of CuPy as the fused kernel needs, on the host: arrays are NumPy's, and kernels run in the twin.

It is stricter than CuPy: what is given to a kernel must be of exactly the type that the kernel declares, and a launch
must be within the limits that the device states and the kernel was given.
"""

import contextlib
import ctypes
import itertools
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

from benchmarks.kernel_twin import LIBRARY, build
from inner_parts import fused

#: What the device says of itself.
ATTRIBUTES = {"MaxThreadsPerBlock": 1024, "MaxSharedMemoryPerBlockOptin": 227 * 1024}
#: Shared memory that a block gets without having been allowed more.
ALLOWED = 48 * 1024
#: Of each kernel whether its arguments are arrays or integers, in order.
ARGUMENTS = {"fused_tables": "aaia", "map_axis": "aiiiiaa"}


def take_place(patch, cupy):
    """Have a module stand in the place of CuPy and of its namespace; what was kept of another is forgotten."""
    compat = ModuleType("array_api_compat.cupy")
    compat.asarray = lambda values, device: cupy.asarray(values)
    patch.setitem(sys.modules, "cupy", cupy)
    patch.setitem(sys.modules, compat.__name__, compat)
    patch.setattr(compat.__name__, compat, raising=False)
    for kept in (fused._module, fused._limits, fused._on_device):
        kept.cache_clear()


class DeviceArray(np.ndarray):
    """An array that says where it is as CuPy's do."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, stream=None, order="C", out=None, blocking=True):
        np.copyto(out, self)


class HostCupy:
    """Stands in for the module."""

    float64, int64, __version__ = np.float64, np.int64, "0.host"
    copyto, asnumpy = staticmethod(np.copyto), staticmethod(np.array)
    ndarray = type("ndarray", (), {})

    def __init__(self, folder: Path) -> None:
        self.library = ctypes.CDLL(str(build(folder, options=LIBRARY)))
        self.compiled: list[tuple[str, ...]] = []
        self.launches: list[tuple[str, int, int, int]] = []
        self.pool = SimpleNamespace(free_all_blocks=lambda: None, total_bytes=lambda: 0)
        self.cuda = HostCuda()

    def zeros(self, shape):
        return np.zeros(shape).view(DeviceArray)

    def empty_like(self, array):
        return self.empty(array.shape, array.dtype)

    def get_default_memory_pool(self):
        return self.pool

    def empty(self, shape, dtype):
        made = np.empty(shape, dtype).view(DeviceArray)
        made[...] = np.array(np.nan).astype(dtype)
        return made

    def asarray(self, values, dtype=None, order=None):
        return np.array(values, dtype=dtype, order=order or "K").view(DeviceArray)

    def RawModule(self, *, code, options, backend):
        assert backend == "nvrtc"
        self.compiled.append((code, *options))
        return SimpleNamespace(get_function=lambda name: HostKernel(self, name))


class CUDARuntimeError(RuntimeError):
    """What CuPy raises where there is no device."""


class HostCuda:
    """Stands in for ``cupy.cuda``, of one device, which does everything at once, a millisecond after the last thing."""

    def __init__(self):
        self._clock = itertools.count(1)
        self.runtime = SimpleNamespace(
            CUDARuntimeError=CUDARuntimeError,
            driverGetVersion=lambda: 13000,
            getDeviceProperties=lambda device: {"name": b"the host"},
        )

    def Device(self, number=0):
        return SimpleNamespace(id=number, attributes=ATTRIBUTES, compute_capability="90", mem_info=(2**30, 2**31))

    def Stream(self, *, non_blocking):
        return HostStream()

    def Event(self):
        event = SimpleNamespace(synchronize=lambda: None, time=0)
        event.record = lambda stream=None: setattr(event, "time", next(self._clock))
        return event

    def get_elapsed_time(self, start, end):
        return end.time - start.time

    def get_current_stream(self):
        return HostStream()

    def alloc_pinned_memory(self, size):
        return bytearray(size)


class HostStream(contextlib.nullcontext):
    """A stream with nothing to wait for."""

    ptr = 0

    def wait_event(self, event):
        assert event.time, "an event that was not recorded is waited for"


class HostKernel:
    """A kernel, which is launched as CuPy's are."""

    def __init__(self, cupy, name):
        self._cupy, self._name = cupy, name
        self.max_dynamic_shared_size_bytes = ALLOWED

    def __call__(self, grid, block, arguments, *, shared_mem=0):
        (blocks,), (threads,) = grid, block
        assert 0 < blocks < 2**31
        assert 0 < threads <= ATTRIBUTES["MaxThreadsPerBlock"]
        assert shared_mem <= self.max_dynamic_shared_size_bytes <= ATTRIBUTES["MaxSharedMemoryPerBlockOptin"]
        self._cupy.launches.append((self._name, blocks, threads, shared_mem))
        kinds = ARGUMENTS[self._name]
        words = [_word(argument, kind) for argument, kind in zip(arguments, kinds, strict=True)]
        call = getattr(self._cupy.library, f"run_{self._name}")
        if self._name == "fused_tables":
            threads = min(threads, 8)  # whose number changes nothing but the time
        call(*map(ctypes.c_longlong, [threads, blocks, shared_mem // 8, *words]))


def _word(argument, kind):
    """What stands in the kernel's parameter: an address, or an integer of 8 bytes."""
    if isinstance(argument, DeviceArray):
        assert kind == "a"
        assert argument.flags.c_contiguous
        return argument.ctypes.data
    assert type(argument) is (np.uint64 if kind == "a" else np.int64)
    return int(argument)

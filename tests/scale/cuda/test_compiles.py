"""NVIDIA's compiler takes the kernel's source for the devices that it is meant for; it needs no device."""

import ctypes
from importlib import metadata

import pytest

from inner_parts import AXIS_KERNEL, KERNEL, fused, kernel_source

PACKAGE = "nvidia-cuda-nvrtc"


def library():
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {PACKAGE} is not installed")
    (path,) = (file.locate() for file in files if file.name.startswith("libnvrtc.so"))
    return ctypes.CDLL(str(path))


def compiled(source, architecture):
    """Whether NVRTC compiles a source, its log, and the binary."""
    nvrtc, program = library(), ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"fused_tables.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}", "--ptxas-options=-v", *fused.OPTIONS]
    status = nvrtc.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options))
    )
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    binary = b""
    if status == 0:
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        content = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, content)
        binary = content.raw
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status == 0, log.value.decode(), binary


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_nvrtc_compiles_the_kernels_without_a_warning_and_with_all_numbers_in_registers(architecture):
    is_compiled, log, binary = compiled(kernel_source(), architecture)
    assert is_compiled, log
    assert "warning" not in log
    assert f".text.{KERNEL}".encode() in binary
    assert f".text.{AXIS_KERNEL}".encode() in binary
    assert log.count("0 bytes spill stores, 0 bytes spill loads") == 2, log

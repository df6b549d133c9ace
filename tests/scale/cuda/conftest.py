"""What stands in for CuPy, whose kernels run in the twin."""

import pytest

from benchmarks.kernel_twin import COMPILER
from host_cupy import HostCupy, take_place


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Built once; without g++ the tests that need it are skipped."""
    if COMPILER is None:
        pytest.skip("the twin of the kernel is built by g++, which is not there")
    return HostCupy(tmp_path_factory.mktemp("cupy"))


@pytest.fixture(scope="module")
def cupy_of_module(built):
    """In the place of CuPy for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        take_place(patch, built)
        yield built


@pytest.fixture
def cupy(built, monkeypatch):
    """In the place of CuPy for one test, with nothing launched."""
    take_place(monkeypatch, built)
    built.launches.clear()
    built.compiled.clear()
    return built

"""A release with ``device="cuda"`` is NumPy's, from the first answer sent to the last table brought back.

The twin of the fused kernel stands in for the GPU, and NumPy's arrays for CuPy's.
"""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import gpu_cases
from benchmarks.gpu_cases import TOLERANCE, WIDE, noisy_answers, worst_difference
from benchmarks.kernel_twin import COMPILER
from host_cupy import ATTRIBUTES, HostCupy
from random_plans import planned, plans, plans_by_set
from residualplanner import reconstruct
from residualplanner.release.devices import cuda_device
from residualplanner.scale.cuda import fused

pytestmark = pytest.mark.skipif(COMPILER is None, reason="the twin of the kernel is built by g++, which is not there")


class NoDriverError(RuntimeError):
    """As CuPy has it."""


@pytest.fixture(scope="module")
def cupy(tmp_path_factory):
    """The stand-in, in the place of CuPy and of its namespace."""
    built, compat = HostCupy(tmp_path_factory.mktemp("cupy")), ModuleType("array_api_compat.cupy")
    built.asnumpy, built.ndarray = np.array, type("ndarray", (), {})
    about = {"attributes": ATTRIBUTES, "mem_info": (2**30, 2**31)}
    built.cuda = SimpleNamespace(
        Device=lambda number=0: SimpleNamespace(id=number, **about),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        runtime=SimpleNamespace(CUDARuntimeError=NoDriverError),
    )
    compat.asarray = lambda values, device: built.asarray(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", built)
        patch.setitem(sys.modules, "array_api_compat.cupy", compat)
        patch.setattr("array_api_compat.cupy", compat, raising=False)
        for kept in (fused._module, fused._limits, fused._on_device):
            kept.cache_clear()
        yield built
        for kept in (fused._module, fused._limits, fused._on_device):
            kept.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("memory", [None, 256], ids=["keeping", "sending"])
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[pytest.mark.slow] * case.startswith("kinds")) for case in gpu_cases.cases()],
)
def test_releases_on_a_cuda_device_are_those_of_numpy(cupy, case, memory):
    before = len(cupy.launches)
    release = reconstruct(gpu_cases.cases()[case], device=cuda_device(memory))
    assert worst_difference(gpu_cases.expected_of(case), gpu_cases.estimates_of(release)) <= TOLERANCE
    assert len(cupy.launches) > before


@pytest.mark.slow
@given(
    plan=planned() | plans() | plans_by_set(),
    answers=st.sampled_from([("discrete", 1), ("gaussian", 1), ("discrete", WIDE)]),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_releases_of_any_plan_on_a_cuda_device_are_those_of_numpy(cupy, plan, answers, seed):
    noise, variance = answers
    measurement = noisy_answers(replace(plan, noise_variances=variance * plan.noise_variances), noise, seed)
    expected = gpu_cases.estimates_of(reconstruct(measurement))
    assert worst_difference(expected, gpu_cases.estimates_of(reconstruct(measurement, device="cuda"))) <= TOLERANCE

"""A release with ``device="cuda"`` is NumPy's, from the first answer sent to the last table brought back.

The twin of the fused kernel stands in for the GPU, and NumPy's arrays for CuPy's.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import gpu_cases
from benchmarks.gpu_cases import TOLERANCE, WIDE, noisy_answers, worst_difference
from inner_parts import devices
from random_plans import planned, plans, plans_by_set
from residualplanner import reconstruct

pytestmark = pytest.mark.slow


@pytest.mark.cases(15)
@pytest.mark.parametrize("memory", [None, 256], ids=["keeping", "sending"])
@pytest.mark.parametrize("case", gpu_cases.cases())
def test_releases_on_a_cuda_device_are_those_of_numpy(cupy_of_module, case, memory):
    before = len(cupy_of_module.launches)
    release = reconstruct(gpu_cases.cases()[case], device=devices.cuda_device(memory))
    assert worst_difference(gpu_cases.expected_of(case), gpu_cases.estimates_of(release)) <= TOLERANCE
    assert len(cupy_of_module.launches) > before


@given(
    plan=planned() | plans() | plans_by_set(),
    answers=st.sampled_from([("discrete", 1), ("gaussian", 1), ("discrete", WIDE)]),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_releases_of_any_plan_on_a_cuda_device_are_those_of_numpy(cupy_of_module, plan, answers, seed):
    noise, variance = answers
    measurement = noisy_answers(replace(plan, noise_variances=variance * plan.noise_variances), noise, seed)
    expected = gpu_cases.estimates_of(reconstruct(measurement))
    assert worst_difference(expected, gpu_cases.estimates_of(reconstruct(measurement, device="cuda"))) <= TOLERANCE

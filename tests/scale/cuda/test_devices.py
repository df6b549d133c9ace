"""Tables of a device are NumPy's, nothing moves on the way, and memory there is bounded.

The device is the second one of array-api-strict, which raises where arrays of two devices meet.
"""

import math
import sys
import weakref
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks import gpu_cases
from benchmarks.gpu_cases import TOLERANCE, WIDE, noisy_answers, worst_difference
from benchmarks.strict_device import DEVICES, KEEPING, SENDING, to_host
from host_cupy import CUDARuntimeError, take_place
from inner_parts import devices
from random_plans import parts_of, planned, plans, plans_by_set
from residualplanner import load_measurement, load_tables, reconstruct

DEVICE = strict.Device("device1")
CASES = gpu_cases.cases()
#: Computes 512 cells at a time.
LITTLE = replace(SENDING, batch_factor=2**-8)


@pytest.mark.cases(12)
@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("case", CASES)
def test_tables_of_a_device_are_those_of_numpy_in_every_way_of_asking(case, device):
    found = gpu_cases.estimates_of(reconstruct(CASES[case], device=device))
    assert worst_difference(gpu_cases.expected_of(case), found) <= TOLERANCE


@given(
    plan=planned() | plans() | plans_by_set(),
    answers=st.sampled_from([("discrete", 1), ("gaussian", 1), ("discrete", WIDE), ("discrete", WIDE * 2**20)]),
    device=st.sampled_from([KEEPING, SENDING]),
    seed=st.integers(0, 99),
)
@settings(max_examples=150)
def test_tables_of_any_plan_and_any_answers_are_those_of_numpy(plan, answers, device, seed):
    noise, variance = answers
    measurement = noisy_answers(replace(plan, noise_variances=variance * plan.noise_variances), noise, seed)
    host, found = reconstruct(measurement), reconstruct(measurement, device=device)
    for query in parts_of(plan.workload):
        expected, table = host[query], found[query]
        assert type(table.estimate) is type(expected.estimate)
        assert table.names == expected.names
        largest = float(expected.std_err.max())
        np.testing.assert_allclose(table.estimate, expected.estimate, rtol=0, atol=TOLERANCE * largest)
    assert worst_difference(gpu_cases.estimates_of(host), gpu_cases.estimates_of(found)) <= TOLERANCE


# Where arrays are.


@pytest.mark.parametrize("case", CASES)
def test_batches_for_the_device_stay_there_and_all_others_are_numpys(case):
    release = reconstruct(CASES[case], device=KEEPING)
    for batch in release.device_batches():
        assert batch.estimates.device == DEVICE
        assert batch.estimates.dtype == strict.float64
    for estimate in (batch.estimates for batch in release.batches()):
        assert type(estimate) is np.ndarray
        assert not estimate.flags.writeable
    assert not release[next(iter(release))].estimate.flags.writeable


@pytest.mark.parametrize("case", CASES)
def test_answers_sent_batch_by_batch_give_the_same_tables_to_the_bit(case):
    kept, sent = (reconstruct(CASES[case], device=device).tables() for device in (KEEPING, SENDING))
    for one, two in zip(kept, sent, strict=True):
        assert one.estimate.tobytes() == two.estimate.tobytes()


@pytest.fixture
def live_bytes(monkeypatch):
    """The bytes of all arrays on the device, which nothing there shares with the host: now, and the most there were."""
    array_class, seen = type(strict.ones(1)), SimpleNamespace(now=0, most=0)
    new, asarray = array_class._new.__func__, strict.asarray

    def gone(count):
        seen.now -= count

    def counting(cls, x, /, device):
        array = new(cls, x, device=device)
        if device == DEVICE and isinstance(x, np.ndarray) and x.base is None:
            seen.now += x.nbytes
            seen.most = max(seen.most, seen.now)
            weakref.finalize(x, gone, x.nbytes)
        return array

    monkeypatch.setattr(array_class, "_new", classmethod(counting))
    monkeypatch.setattr(strict, "asarray", partial(asarray, copy=True))
    return seen


def bytes_of_marginals(attributes, device, live_bytes):
    """The most bytes on the device while the tables of some attributes are computed, and the bytes of the tables."""
    plan = rp.select(rp.marginals(rp.Domain({f"a{i}": 4 for i in range(attributes)}), up_to=3), budget=rp.pcost(1))
    measurement, all_bytes = noisy_answers(plan, "discrete"), 0
    live_bytes.most = live_bytes.now
    for batch in reconstruct(measurement, device=device).device_batches():
        all_bytes += 8 * math.prod(batch.estimates.shape)
    return live_bytes.most, all_bytes


def test_memory_on_the_device_does_not_grow_with_the_number_of_tables(live_bytes):
    few, tables_of_few = bytes_of_marginals(8, LITTLE, live_bytes)
    many, tables_of_many = bytes_of_marginals(20, LITTLE, live_bytes)
    assert tables_of_many > 15 * tables_of_few
    assert 2**11 * 8 < many < 2 * few < tables_of_many / 5


# Being asked for a device.


def test_a_release_says_where_it_is_computed_and_saves_what_it_computes(tmp_path):
    release = reconstruct(CASES["bases by set, gaussian"], device=KEEPING)
    assert repr(release).endswith(", on strict>")
    assert "on" not in repr(reconstruct(release.measurement)).split()
    release.save(tmp_path / "tables")
    saved = load_tables(tmp_path / "tables")
    for query in release:
        assert (saved[query].estimate == release[query].estimate).all()


def test_a_release_on_a_device_is_not_written_in_parts_by_the_host(tmp_path):
    with pytest.raises(rp.errors.ArgumentError, match=r"parts are computed by NumPy.*without device"):
        reconstruct(CASES["marginals, discrete"], device=KEEPING).save(tmp_path / "parts", "parts")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("device", ["gpu", "CUDA", 0, np, DEVICE])
def test_other_words_for_a_device_are_refused(device):
    with pytest.raises(rp.errors.ArgumentError, match=r'device must be None \(NumPy\), "cuda" or a Device'):
        reconstruct(CASES["marginals, discrete"], device=device)


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[gpu\]'") as caught:
        reconstruct(CASES["marginals, discrete"], device="cuda")
    assert caught.value.extra == "gpu"


def cupy_with(monkeypatch, unit):
    """A module in CuPy's place whose current device is what ``unit`` returns, with arrays on the strict device."""
    cupy = ModuleType("cupy")
    cupy.asnumpy, cupy.ndarray = to_host, type("ndarray", (), {})
    cupy.cuda = SimpleNamespace(Device=unit, runtime=SimpleNamespace(CUDARuntimeError=CUDARuntimeError))
    take_place(monkeypatch, cupy)


def test_with_cupy_and_no_device_another_error_says_so_and_nothing_is_computed(monkeypatch):
    def unit():
        raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")

    cupy_with(monkeypatch, unit)
    with pytest.raises(
        rp.errors.DeviceError, match=r"CuPy finds none \(cudaErrorNoDevice.*leave device out to compute with NumPy"
    ):
        reconstruct(CASES["marginals, discrete"], device="cuda")


def test_a_cuda_device_keeps_answers_in_half_of_its_free_memory_or_what_it_is_told(monkeypatch):
    cupy_with(monkeypatch, lambda: SimpleNamespace(mem_info=(10_000, 20_000)))
    assert (devices.device_of("cuda").memory, devices.cuda_device(77).memory) == (5_000, 77)
    assert devices.device_of("cuda").batch_factor > 1


def test_measurements_that_are_left_on_disk_go_to_a_device(tmp_path):
    measurement = CASES["kinds, gaussian"]
    measurement.save(tmp_path / "m")
    mapped = load_measurement(tmp_path / "m", mapped=True)
    for device in DEVICES.values():
        tables = zip(reconstruct(mapped, device=device).tables(), reconstruct(measurement).tables(), strict=True)
        for found, expected in tables:
            np.testing.assert_allclose(found.estimate, expected.estimate, rtol=0, atol=TOLERANCE)

"""Only noisy answers and what follows from the plan go to a device: no record, no exact count, nothing exact."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import residualplanner as rp
from benchmarks.gpu_cases import WIDE, cases
from benchmarks.strict_device import DEVICES, KEEPING
from inner_parts import arrays, devices, reference_answers, stacks
from residualplanner import reconstruct

ROOT = Path(rp.__file__).parent
#: What can move an array to a device, or name one; and modules of which all is imported.
MOVERS = {"HOST", "Device", "cuda", "cuda_device", "cupy", "array_api_compat", "device_of", "devices", "like"}
WHOLE = {"residualplanner.method.kron", "residualplanner.method.kron.arrays", "residualplanner.release"}
#: Makes room where the array beside it is, and moves nothing.
SCRATCH = "residualplanner.method.kron.arrays.Scratch"
#: Rooms that see records, exact counts, or noise before it is added.
ROOMS = ("gate", "scale/engines", "scale/stored")


def movers_in(tree):
    """What a module imports, wherever, that is one of these, or in one of these."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            parents = {name, name.rpartition(".")[0]} if ".kron.arrays" in name else {name}
            if name != SCRATCH and (parents & WHOLE or MOVERS.intersection(name.split("."))):
                yield name


def test_nothing_that_sees_records_or_exact_counts_knows_of_devices():
    modules = [module for room in ROOMS for module in sorted((ROOT / room).rglob("*.py"))]
    assert len(modules) > 30
    assert {module.stem: found for module in modules if (found := list(movers_in(ast.parse(module.read_text()))))} == {}


def seen_as(patch, space):
    """Have a function say of which library arrays are that are not NumPy's."""
    patch.setattr(arrays, "_namespace_of", lambda array: np if isinstance(array, np.ndarray) else space())


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
@pytest.mark.parametrize("memory", [None, 10**6])
def test_measuring_puts_nothing_on_a_device_and_makes_no_array_of_another_library(monkeypatch, tmp_path, noise, memory):
    def refuse(*_args):
        raise AssertionError("sent")

    monkeypatch.setattr(devices.Device, "put", refuse)
    seen_as(monkeypatch, refuse)
    domain = rp.Domain({"a": 40, "b": 4, "c": 3})
    queries = [{"a": rp.Prefix(), "b": rp.Identity()}, {"b": rp.Range(), "c": rp.Identity()}]
    plan = rp.select(rp.Workload(domain, queries), budget=rp.zcdp("0.5"))
    records = np.random.default_rng(0).integers(0, domain.sizes, (200, 3))
    options = {} if memory is None else {"memory": memory, "scratch": tmp_path}
    measurement = rp.measure(plan, records, noise=noise, **options)
    with pytest.raises(AssertionError, match="sent"):
        reconstruct(measurement)[queries[0]]


@pytest.mark.parametrize(
    "exact",
    [
        np.arange(4),
        np.arange(4.0),
        {("a",): np.arange(4)},
        [np.arange(4)],
        cases()["marginals, discrete"],
        cases()["marginals, discrete"].plan,
        None,
    ],
    ids=["integers", "floats", "counts", "list", "measurement", "plan", "none"],
)
def test_only_the_noisy_answers_of_a_measurement_go_to_a_device_as_answers(exact):
    with pytest.raises(rp.errors.ArgumentError, match="only noisy answers go to a device"):
        stacks.DeviceAnswers(exact, KEEPING)


class Sent:
    """The strict namespace, which keeps what comes from the host."""

    __name__ = "array_api_strict, kept"

    def __init__(self, space):
        self._space, self.arrays = space, []

    def __getattr__(self, name):
        return getattr(self._space, name)

    def asarray(self, values, **options):
        self.arrays.append(np.array(values))
        return self._space.asarray(values, **options)


def negated(measurement):
    """Other answers of the same plan, of which as many need more than 64 bits."""
    answers = measurement.residuals
    wide = {group: -numbers for group, numbers in answers.wide.items()}
    return replace(measurement, residuals=replace(answers, numbers=-answers.numbers, wide=wide))


def sent_by(measurement, device, monkeypatch):
    """All arrays that are sent while every table of a measurement is computed."""
    space = Sent(device.xp)
    with monkeypatch.context() as patch:
        seen_as(patch, lambda: space)
        for _ in reconstruct(measurement, device=replace(device, xp=space)).device_batches():
            pass
    return space.arrays


def noisy_numbers(measurement):
    """Every number that may be sent of a measurement's answers."""
    residuals = [measurement.residuals, reference_answers.reference_answers(measurement)]
    stored = [each.stored(group).ravel() for each in residuals for group in range(len(each.groups.members))]
    return {float(number) for numbers in [*stored, *(each.values for each in residuals)] for number in numbers}


def not_of_the_plan(one, two):
    """What is sent of one measurement and differs from what is sent of another of the same plan."""
    assert [each.shape for each in one] == [each.shape for each in two]
    return [first for first, second in zip(one, two, strict=True) if first.tobytes() != second.tobytes()]


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
@pytest.mark.parametrize("case", cases())
def test_what_is_sent_is_noisy_answers_or_follows_from_the_plan(monkeypatch, case, device):
    measurement = cases()[case]
    found, other = (sent_by(each, device, monkeypatch) for each in (measurement, negated(measurement)))
    allowed, changed = noisy_numbers(measurement), not_of_the_plan(found, other)
    assert changed
    assert len(changed) < len(found)
    for numbers in changed:
        assert {float(number) for number in numbers.ravel()} <= allowed


def test_the_check_above_sees_answers_without_noise(monkeypatch):
    """Were something else than the answers sent that depends on the data, it would be seen."""
    measurement = cases()["marginals, discrete"]
    sound = stacks.DeviceAnswers._new_numbers

    def shifted(answers, group):
        return sound(answers, group) + 1

    monkeypatch.setattr(stacks.DeviceAnswers, "_new_numbers", shifted)
    found, other = (sent_by(each, KEEPING, monkeypatch) for each in (measurement, negated(measurement)))
    allowed = noisy_numbers(measurement)
    assert any({float(number) for number in each.ravel()} - allowed for each in not_of_the_plan(found, other))


def test_integers_that_int64_cannot_hold_stay_on_the_host_and_go_over_as_floats(monkeypatch):
    found = sent_by(cases()["marginals, wide"], KEEPING, monkeypatch)
    assert not any(each.dtype == np.object_ for each in found)
    assert {np.dtype(np.int64), np.dtype(np.float64)} <= {each.dtype for each in found}
    assert any(np.abs(each).max() > np.sqrt(WIDE) for each in found if each.dtype == np.float64)
    assert cases()["marginals, wide"].residuals.wide
    assert cases()["marginals, wide"].residuals.divisors

"""Faults planted in the path on a device, each of which the comparison with NumPy must find.

    python -m benchmarks.gpu_faults

For each fault a line says in how many of the runs of `benchmarks.gpu_cases` it is found, and how: by an error of the
strict library, or because tables are more than 1e-12 of their largest standard error from those of the sound code.
Exits with 1 if a fault is found in no run, or not in the way that is written beside it.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from unittest.mock import patch

import array_api_strict as strict
import numpy as np

import residualplanner as rp
from benchmarks.gpu_cases import TOLERANCE, cases, estimates_of, expected_of, worst_difference
from benchmarks.strict_device import DEVICES
from residualplanner.method.kron import axis_maps
from residualplanner.method.kron.arrays import like
from residualplanner.method.kron.axis_maps import tables_of_residuals
from residualplanner.method.queries import rows, runs
from residualplanner.release import batches, reference_answers, stacks
from residualplanner.release.devices import Device
from residualplanner.release.stacks import DeviceAnswers

HOST, OTHER = strict.Device("CPU_DEVICE"), strict.Device("device2")
SOUND_SUM = strict.sum


class Change(NamedTuple):
    """A name that means something else while a fault is planted."""

    owner: Any
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in the path on a device.

    Attributes:
        changes: names that mean something else while it is planted.
        error: words of the error that finds it; empty where tables differ.
        device: what becomes of the device.
    """

    changes: tuple[Change, ...] = ()
    error: str = ""
    device: Callable[[Device], Device] = lambda device: device


class Finding(NamedTuple):
    """How a fault showed in a run: how far tables were from the expected ones, or an error."""

    difference: float
    error: str


def finding(fault: Fault, case: str, device: Device) -> Finding:
    """What shows when the tables of a case are computed on a device by the path with a fault."""
    expected = expected_of(case)
    with ExitStack() as planted:
        for owner, name, value in fault.changes:
            planted.enter_context(patch.object(owner, name, value, create=True))
        try:
            release = rp.reconstruct(cases()[case], device=fault.device(device))
            return Finding(worst_difference(expected, estimates_of(release)), "")
        except Exception as error:  # noqa: BLE001 - shown, and compared with the one that is to be expected
            return Finding(0.0, f"{type(error).__name__}: {error}")


def is_found(fault: Fault, found: Finding) -> bool:
    """Whether that is how the fault is to show."""
    return fault.error in found.error if fault.error else found.difference > TOLERANCE


def of(owner: Any, name: str, value: Any, error: str = "") -> Fault:
    return Fault((Change(owner, name, value),), error)


# What the faults do.


def undivided(integers: Any, divisor: int) -> Any:
    del divisor
    return strict.astype(integers, strict.float64)


def single_precision(integers: Any, divisor: int) -> Any:
    return strict.astype(strict.astype(integers, strict.float32), strict.float64) / float(divisor)


def empty_in_single_precision(shape: tuple[int, ...], array: Any) -> Any:
    return strict.empty(shape, dtype=strict.float32, device=array.device)


def empty_on_host(shape: tuple[int, ...], array: Any) -> Any:
    del array
    return np.empty(shape)


def next_rows(array: Any, rows: Any) -> Any:
    return strict.take(array, strict.asarray((rows + 1) % array.shape[0], device=array.device), axis=0)


def rows_on_host(array: Any, rows: Any) -> Any:
    return strict.take(array, strict.asarray(rows), axis=0)


def like_on_host(values: Any, array: Any) -> Any:
    return strict.asarray(values, dtype=array.dtype)


def tables_on_host(*args: Any, **options: Any) -> Any:
    return np.asarray(tables_of_residuals(*args, **options).to_device(HOST))


def put_elsewhere(device: Device, values: Any) -> Any:
    return strict.asarray(values, device=OTHER if values.ndim > 1 else device.unit)


def blocks_with_first_rows(answers: Any, groups: Any, rows: Any) -> Any:
    return [answers._device.put(answers._numbers(group)) for group in groups], np.zeros_like(rows)


def low_words(answers: Any, group: int) -> Any:
    numbers = answers._residuals.stored(group)
    if numbers.dtype != np.object_:
        return numbers
    return ((numbers & (2**63 - 1)) / answers._residuals.divisor(group)).astype(np.float64)


def divisor_of_all(answers: Any, group: int) -> int:
    return int(answers._residuals.divisor(group))


def sums_of_those_before(array: Any, axis: int) -> Any:
    return array if isinstance(array, np.ndarray) else strict.cumulative_sum(array, axis=axis) - array


def rows_backwards(matrix: Any, values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return matrix @ values
    return strict.matmul(like(matrix.toarray()[::-1], values), values)


def sums_of_all_but_one(array: Any, *, axis: int) -> Any:
    return SOUND_SUM(array[:, :-1, ...], axis=axis)


def spread_with_plus(lower: Any, spread: Any, left_out: int, axes: Any) -> Any:
    if not axes:
        return lower(left_out)
    smaller = spread_with_plus(lower, spread, left_out | 1 << axes[0], axes[1:])
    return spread_with_plus(lower, spread, left_out, axes[1:]) + spread[axes[0]] * smaller


FAULTS = {
    "the divisor is dropped": of(axis_maps, "quotients", undivided),
    "integers go through single precision": of(axis_maps, "quotients", single_precision),
    "tensors are in single precision": of(axis_maps, "empty_floats", empty_in_single_precision, "mismatched dtypes"),
    "tensors are NumPy's": of(axis_maps, "empty_floats", empty_on_host, "Can't convert array"),
    "tables become NumPy's on the way": Fault(
        (), "not on the device", lambda device: replace(device, tables=tables_on_host)
    ),
    "subsets count from the last axis": of(axis_maps, "reversed", tuple, "broadcast"),
    "axes stay in the order of the domain": of(batches, "_with_axes", lambda tables, _: tables),
    "rows are one too far": of(axis_maps, "take", next_rows),
    "any rows are taken for a run": of(axis_maps, "_is_run", lambda rows: len(rows) > 0, "broadcast"),
    "row numbers stay on the host": of(axis_maps, "take", rows_on_host, "two different devices"),
    "matrices stay on the host": of(axis_maps, "like", like_on_host, "two different devices"),
    "answers go to another device": of(Device, "put", put_elsewhere, "mismatched devices"),
    "every table has the first rows": of(DeviceAnswers, "blocks", blocks_with_first_rows),
    "of wide integers the low bits are sent": of(DeviceAnswers, "_new_numbers", low_words),
    "wide integers are divided twice": of(DeviceAnswers, "divisor", divisor_of_all),
    "cumulative sums leave out the last value": of(runs, "cumulative_sums", sums_of_those_before),
    "rows of a sparse kind come backwards": of(rows, "sparse_product", rows_backwards),
    "sums over an axis leave out its last entry": of(strict, "sum", sums_of_all_but_one),
    "bases by set are taken for the references": of(stacks, "reference_answers", lambda found, _: found.residuals),
    "bases by set add what they should subtract": of(reference_answers, "_spread", spread_with_plus),
}


def main() -> int:
    missed = 0
    print(f"{'fault':45} {'found':>7}  how")
    for name, fault in FAULTS.items():
        findings = [finding(fault, case, device) for case in cases() for device in DEVICES.values()]
        found = [each for each in findings if is_found(fault, each)]
        missed += not found
        print(f"{name:45} {len(found):3}/{len(findings)}  {how(found)}")
    print(f"{len(FAULTS)} faults, {missed} missed")
    return 1 if missed else 0


def how(found: list[Finding]) -> str:
    """The largest difference, or an error, in a line."""
    if not found:
        return "MISSED"
    return found[0].error[:90] or f"off by {max(each.difference for each in found):.2g} standard errors"


if __name__ == "__main__":
    sys.exit(main())

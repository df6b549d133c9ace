"""From noisy answers to a release.

Costs no privacy budget.
Source: eqs. (10), (13) and (25), and docs/mathematics.md section 7 on several measurements.
"""

from collections.abc import Sequence
from typing import Any, TypeGuard

from residualplanner.gate.measurement.averages import as_one
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import ArgumentError
from residualplanner.release.devices import Device, device_of
from residualplanner.release.release import Release


def reconstruct(
    measurement: Measurement | Release | Sequence[Measurement | Release], *, device: Device | str | None = None
) -> Release:
    """All tables that follow from a measurement, or from several together; each is computed when it is looked up.

    Of several measurements every residual has the average of its answers, weighted by their precisions: no unbiased
    linear estimate has a smaller variance.

    Args:
        measurement: from `measure` or `load_measurement`, or the folder of a release, from `load_tables`, which holds
            its measurement whatever its tables are; or a list or tuple of measurements of the same records.
            That they are of the same records is for the caller to know; nothing in a measurement tells.
        device: where tables are computed: by NumPy unless given; ``"cuda"``, by CuPy on its current device; or a
            `Device`.

    Returns:
        The release: a mapping from queries to tables.

    Raises:
        ArgumentError: ``measurement`` is not a measurement, or a list without any; or there is no such device.
        FileFormatError: the measurement of a folder is missing or was altered.
        BudgetError: one measurement is there twice, or they protect different changes of the records.
        WorkloadError: measurements are over different domains, or have an attribute in different bases.
        MissingExtraError: ``"cuda"``, and CuPy is not installed.
        DeviceError: ``"cuda"``, and there is no CUDA device; nothing is computed elsewhere in its place.

    Guarantees: post-processing; it costs no budget.  Estimates are unbiased, and tables agree on common marginals.  The
        guarantee of several measurements is for the sum of their costs.
    Source: eqs. (10), (13) and (25); docs/mathematics.md section 7, on several measurements; paper Algorithms 2 and 6.

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, marginals, measure, select, zcdp
        >>> plan = select(marginals(Domain({"a": 2, "b": 3}), order=2), budget=zcdp("0.25"))
        >>> records = np.zeros((20, 2), dtype=int)
        >>> pilot, survey = measure(plan, records), measure(plan, records)
        >>> both = reconstruct([pilot, survey])
        >>> float(round(both["a"].std_err[0] / reconstruct(survey)["a"].std_err[0], 6))
        0.707107
        >>> both.noise.pcost == 2 * pilot.noise.pcost
        True
    """
    several: Sequence[Any] = measurement if isinstance(measurement, list | tuple) else [measurement]
    others = [each for each in several if not (isinstance(each, Measurement) or _is_saved(each))]
    if others:
        remedy = (
            "write reconstruct(measure(plan, records)), or reconstruct(load_measurement(path)); of several "
            "reconstruct([first, second])"
        )
        refused = others[0] if len(others) < len(several) else measurement
        require_type("reconstruct", "measurement", refused, Measurement, remedy)
    return Release(as_one([own for each in several for own in each.measurements]), device=device_of(device))


def release_of(source: object, function: str, remedy: str) -> Release:
    """A release itself, or that of a folder: of its measurement, whatever its tables are; as argument of a function.

    ArgumentError, with what to write instead, where it is neither, or its numbers were made from unbiased ones.
    """
    if _is_saved(source):
        return reconstruct(source)
    require_type(function, "release", source, Release, remedy)
    assert isinstance(source, Release)
    if not source.product.is_unbiased:
        raise ArgumentError(f"{function}: release must be unbiased, and it is {source.product.name}; {remedy}")
    return source


def _is_saved(source: object) -> TypeGuard[Release]:
    return isinstance(source, Release) and source.numbers.folder is not None

"""A table of rows of one attribute by groups, and the data frame of what was made from it.

Reads: a release, groups.  Gives: Table, data frames.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError
from residualplanner.queries import CellRows, Identity, Kind
from residualplanner.reconstruction import Release, Table
from residualplanner.workload import Workload

if TYPE_CHECKING:
    import pandas as pd


def grouped_table(
    release: Release,
    attribute: str,
    by: Iterable[str] | Mapping[str, Kind],
    rows_of: Callable[[Attribute], CellRows],
    what: str,
) -> Table:
    """The rows of an attribute by groups, along the last axis.

    Raises:
        WorkloadError: the tables are not unbiased, or do not answer these rows; ``what`` these are, in words.
    """
    if not isinstance(release, Release):
        raise WorkloadError("means and quantiles are made of the unbiased tables that reconstruct returns")
    groups = dict(by) if isinstance(by, Mapping) else {name: Identity() for name in [*by]}
    if attribute in groups:
        raise WorkloadError(f"{attribute!r} cannot make the groups of its own statistics; leave it out of by=")
    kind = rows_of(release.plan.domain[attribute])
    if not _is_answered(release.plan.workload, attribute, kind.rows_of_cells):
        raise WorkloadError(_lacking(what, attribute, groups))
    try:
        return release[{**groups, attribute: kind}]
    except WorkloadError as error:
        raise WorkloadError(f"{_lacking(what, attribute, groups)} ({error})") from None


def _is_answered(workload: Workload, attribute: str, wanted: FloatArray) -> bool:
    """Whether rows are sums of multiples of those that queries have on the attribute, and of the row of a total.

    Others may be measured too, to complete a basis, but with noise without bounds.
    """
    position = workload.domain.names.index(attribute)
    size = workload.domain.sizes[position]
    used = [workload.kinds[code].matrix(size) for code in np.flatnonzero(workload.uses[position])]
    asked = np.concatenate([np.ones((1, size)), *used])
    scaled = asked / np.maximum(np.abs(asked).max(axis=1, keepdims=True), 1e-300)
    left = wanted - wanted @ np.linalg.pinv(scaled) @ scaled
    return bool((np.abs(left) <= 1e-9 * np.abs(wanted).max()).all())


def frame_of(
    names: tuple[str, ...], labels: tuple[tuple[object, ...], ...], columns: Mapping[str, Any]
) -> "pd.DataFrame":
    """A row for each group, in C order, with its labels and some numbers."""
    import pandas as pd

    groups = list(product(*labels))
    frame = pd.DataFrame(groups, columns=list(names), index=range(len(groups)))
    return frame.assign(**{name: np.ravel(values) for name, values in columns.items()})


def _lacking(what: str, attribute: str, groups: Mapping[str, Kind]) -> str:
    """What to add to the workload: the counts by bin, beside the sum where there is one."""
    by = "".join(f"{name!r}: {kind!r}, " for name, kind in groups.items())
    counts = f"{{{by}{attribute!r}: Identity()}}"
    needed = f"{{{by}{attribute!r}: Sum()}} and {counts}" if "sums" in what else counts
    return (
        f"the release does not answer {what} of {attribute!r} by {[*groups]}; let the workload have {needed}, "
        "plan and measure again"
    )

"""A table of rows of one attribute by groups, and the data frame of what was made from it.

Reads: a release, groups.  Gives: Table, data frames.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError
from residualplanner.queries import CellRows, Identity, Kind
from residualplanner.reconstruction import Release, Table

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
    kind: Kind = rows_of(release.plan.domain[attribute])
    try:
        table = release[{**groups, attribute: kind}]
        exact = np.isfinite(table.variance).all()
    except WorkloadError as error:
        raise WorkloadError(f"{_lacking(what, attribute, groups)} ({error})") from None
    if not exact:
        raise WorkloadError(_lacking(what, attribute, groups))
    return table


def frame_of(
    names: tuple[str, ...], labels: tuple[tuple[object, ...], ...], columns: Mapping[str, Any]
) -> "pd.DataFrame":
    """A row for each group, in C order, with its labels and some numbers."""
    import pandas as pd

    groups = list(product(*labels))
    frame = pd.DataFrame(groups, columns=list(names), index=range(len(groups)))
    return frame.assign(**{name: np.ravel(values) for name, values in columns.items()})


def _lacking(what: str, attribute: str, groups: Mapping[str, Kind]) -> str:
    return (
        f"the release does not answer {what} of {attribute!r} by {[*groups]}; add both to the workload, plan and "
        "measure again"
    )

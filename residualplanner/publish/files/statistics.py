"""Which statistics a release has, and where: tables for means or quantiles have files of these beside their own.

Where numbers were made from unbiased estimates, such as non-negative ones, counts and sums are those numbers, as in
tables; means, quantiles, errors and intervals are those of the unbiased estimates.
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, written_queries
from residualplanner.publish.files.sidecar import STATISTICS
from residualplanner.release.profiles import Profile, clash_text
from residualplanner.release.statistics import kinds_of_statistics, statistic_form
from residualplanner.release.tidy_form import label_column_names


def queries_with(workload: Workload, codes: Sequence[int]) -> IntArray:
    """The numbers of the queries with one of some kinds, ascending."""
    return np.flatnonzero(np.concatenate([np.isin(block.kinds, codes).any(axis=1) for block in workload.blocks]))


def statistics_name(word: str) -> str:
    """The file of all statistics of a sort within the folder of a release in parts, as ``means.parquet``."""
    return f"{word}.parquet"


def statistics_sentence(workload: Workload, file_format: str) -> str:
    """Where a release of a workload has which statistics; empty where it has none.

    Example:
        >>> from residualplanner import Domain, Identity, Mean, Numeric
        >>> domain = Domain({"job": 2, "pay": Numeric(0, 10)})
        >>> workload = Workload(domain, [{"pay": Mean()}, {"job": Identity(), "pay": Mean()}])
        >>> statistics_sentence(workload, "csv"), statistics_sentence(workload, "parts")
        ('statistics/ has the means of 2 tables', 'means.parquet has the means of 2 tables')
        >>> statistics_sentence(workload, "workbook")
        'sheets such as "1 statistics" have the means of 2 tables'
    """
    rows = {word: queries_with(workload, codes) for word, codes in kinds_of_statistics(workload).items()}
    if not rows:
        return ""
    what = " and ".join(f"the {word} of {count_text(len(numbers), 'table')}" for word, numbers in rows.items())
    if file_format == PARTS_FORMAT:
        where = " and ".join(map(statistics_name, rows)) + (" have" if len(rows) > 1 else " has")
    elif file_format == BOOK_FORMAT:
        first = 1 + min(int(numbers[0]) for numbers in rows.values())
        where = f'sheets such as "{first} {STATISTICS}" have'
    else:
        where = f"{STATISTICS}/ has"
    return f"{where} {what}"


def require_free_statistic_names(workload: Workload, profile: Profile) -> None:
    """Raise WorkloadError if an attribute that makes groups has the name of a column of their statistic."""
    queries = written_queries(workload) if kinds_of_statistics(workload) else ()
    for form in filter(None, (statistic_form(workload.domain, profile, query) for query in queries)):
        columns = {column.name for column in form.columns} | set(form.kind.more_axes)
        clashes = sorted(columns.intersection(label_column_names((group, [kind]) for group, kind in form.groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {form.kind.name} of {form.attribute.name!r}; rename them in the domain"
            )

"""Which formats and columns the tables of a workload can be written in, and what is said to readers."""

import numpy as np

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.file_names import BOOK_FORMAT, PARTS_FORMAT, written_queries
from residualplanner.publish.files.formats import FORMATS, format_names
from residualplanner.publish.files.workbook import require_workbooks
from residualplanner.release.profiles import FormatName, Profile, clash_text, profile_named, require_free_names
from residualplanner.release.quality import Publication, Quality
from residualplanner.release.statistics import kinds_of_statistics, statistic_form
from residualplanner.release.tidy_form import label_column_names

__all__ = ["MOST_FILES", "Publication", "Quality", "chosen_format", "require_exportable"]
#: Up to this many tables are written to a file each where no format is given.
MOST_FILES = 5_000


def chosen_format(
    workload: Workload, format: FormatName | None, profile: str = "default", *, quality: Quality | None = None
) -> FormatName:
    """The format given, or else "parquet", or "parts" for very many tables; WorkloadError where it is no format.

    Parts have no columns of other profiles, and none of quality: many such tables are "parquet", too.
    """
    if format is None:
        return "parts" if len(workload) > MOST_FILES and profile == "default" and quality is None else "parquet"
    every = format_names()
    if not isinstance(format, str) or format not in every:
        raise WorkloadError(f"format must be one of {list(every)}, got {value_text(format)}{suggestion(format, every)}")
    return format


def require_exportable(
    workload: Workload, format: FormatName | None = None, profile: str = "default", *, quality: Quality | None = None
) -> None:
    """Raise unless the tables of a workload can be written in a format and profile; to call before they are measured.

    Args:
        workload: the tables to save.
        format: "parquet", "csv", "xlsx", "workbook" or "parts"; by default what ``Release.save`` chooses.
        profile: "default", "acs" or "gls".
        quality: which estimates are reliable, if tables are to say it.

    Raises:
        WorkloadError: there is no such format or profile, the profile or the quality is not for "parts", an attribute
            has the name of a column of the profile, or Excel cannot hold a table, or all of them in one workbook.
        MissingExtraError: the format is "xlsx" or "workbook", and XlsxWriter is not installed.
    """
    found = profile_named(profile)
    format = chosen_format(workload, format, found.name, quality=quality)
    if format == PARTS_FORMAT and quality is not None:
        raise WorkloadError(
            '"parts" has estimates and standard errors only, whose quotient is the coefficient of variation: quality= '
            "is for other formats"
        )
    if format == PARTS_FORMAT and found.name != "default":
        raise WorkloadError(f'"parts" has estimates and standard errors only: profile={profile!r} is for other formats')
    require_free_columns(workload, found.graded(quality))
    if format == BOOK_FORMAT:
        require_workbooks(workload, is_one=True)
    elif format in FORMATS:
        FORMATS[format].require(workload)


def require_free_columns(workload: Workload, profile: Profile) -> None:
    """Raise WorkloadError if an attribute has the name of a column of the tables, or of their statistics."""
    is_axis = np.array([kind.is_axis for kind in workload.kinds], dtype=bool)
    uses = workload.uses & is_axis
    used = np.flatnonzero(uses.any(axis=1)).tolist()
    kinds = {position: [workload.kinds[code] for code in np.flatnonzero(uses[position])] for position in used}
    axes = ((workload.domain.attributes[position], kinds[position]) for position in used)
    require_free_names(label_column_names(axes), profile)
    queries = written_queries(workload) if kinds_of_statistics(workload) else ()
    for form in filter(None, (statistic_form(workload.domain, profile, query) for query in queries)):
        columns = {column.name for column in form.columns} | set(form.kind.more_axes)
        clashes = sorted(columns.intersection(label_column_names((group, [kind]) for group, kind in form.groups)))
        if clashes:
            raise WorkloadError(
                f"{clash_text(clashes)} of the {form.kind.name} of {form.attribute.name!r}; rename them in the domain"
            )

"""The comparisons of a release as files beside its tables: differences, ratios, changes and ranks, in CSV."""

import math
import re
from collections.abc import Sequence
from typing import Any

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, TEXT, TRUTH, ComparisonForm, FileColumn, label_type
from residualplanner.release.comparisons import RANKS, ComparedTable, Comparisons, RankTable

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


def require_comparison_name(name: object) -> None:
    """Raise WorkloadError unless a comparison can be called so: its file is."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise WorkloadError(
            f"a comparison is called {value_text(name)}, and its file would be; use letters from A to Z, digits, "
            '"_" and "-", as in "ill-per-1000"'
        )


def require_comparisons(comparisons: Comparisons) -> None:
    """Raise WorkloadError unless they are comparisons, with names for files."""
    for name, each in comparisons.items():
        require_comparison_name(name)
        if not isinstance(each, ComparedTable | RankTable):
            raise WorkloadError(
                f"the comparison {name!r} is {value_text(each)}; give the result of difference, ratio, change or ranks "
                "of residualplanner.statistics"
            )
    if len({name.lower() for name in comparisons}) < len(comparisons):
        raise WorkloadError("two comparisons have names that differ in case only, which some systems ignore")


def comparison_in_sheet(comparison: ComparedTable | RankTable) -> Any:
    """A comparison for PyArrow, without what workbooks cannot hold: an interval without an end has an empty cell."""
    import pyarrow as pa

    frame = comparison.to_frame()
    return pa.Table.from_pandas(frame.where(~frame.isin([math.inf, -math.inf]), None), preserve_index=False)


def comparison_forms(comparisons: Comparisons) -> dict[str, ComparisonForm]:
    """What their files hold."""
    found = {}
    for name, each in comparisons.items():
        columns = [FileColumn(*axis, "", "") for axis in zip(each.names, map(label_type, each.labels), strict=True)]
        for head, unit, meaning in each.columns:
            columns.append(FileColumn(head, INTEGER if head in RANKS else NUMBER, unit, meaning))
        found[name] = ComparisonForm(name, each.title, tuple(columns))
    return found


def comparison_forms_of_json(stated: object) -> dict[str, ComparisonForm]:
    """Undo `ComparisonForm.to_json` of several; FileFormatError where something else is stated."""
    found = {}
    entries: Sequence[Any] = stated if isinstance(stated, list) else [{}]
    for each in entries:
        try:
            columns = tuple(FileColumn(**column) for column in each["columns"])
            form = ComparisonForm(each["name"], each["title"], columns)
            require_comparison_name(form.name)
            texts = [form.title, *(text for column in columns for text in column.words)]
            are_types = all(column.datatype in (TEXT, INTEGER, TRUTH, NUMBER) for column in columns)
            if each["file"] != form.file or not are_types or not all(isinstance(text, str) for text in texts):
                raise LookupError
        except (LookupError, TypeError, WorkloadError):
            raise FileFormatError('its "comparisons" are not what a release has') from None
        found[form.name] = form
    return found

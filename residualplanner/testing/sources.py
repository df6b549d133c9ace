"""Whether a form of records is read as the library says, from counts that are made by hand.

The only door is `measure`: with next to no noise its answers are the counts.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from residualplanner.gate.measurement.measure import measure
from residualplanner.gate.sources.limited_records import LimitedRecords
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import pcost
from residualplanner.method.workload.families import marginals
from residualplanner.release.reconstruct import reconstruct
from residualplanner.testing.comparing import agree, require

#: Columns of records: the entries of each, by name.
Columns = dict[str, list[Any]]
#: A text that is no value of the schema, and may stand in no message.
_PRIVATE = "private 7351"
_TEXTS, _EDGES = ["01", "1", "é"], [0.0, 1.5, 10.0]
_DOMAIN = Domain(
    {
        "text": Attribute("text", labels=_TEXTS, unknown="Other", missing="drop"),
        "code": 3,
        "number": Attribute("number", bins=Bins(_EDGES), unknown="drop", missing="[0, 1.5)"),
    }
)
_STRICT = Domain({"text": Attribute("text", labels=_TEXTS), "code": 3})
#: How many records of each person count, and how many persons there are.
_KEEP, _PERSONS = 2, 9


def check_source(make: Callable[[Columns], object], *, records: int = 300, persons: bool = True) -> None:
    """Check a form of records, such as the frames of a library: that its records are counted as those of any other.

    Args:
        make: makes records of this form from lists of integers, floats, texts and None by column, all of one length.
        records: the most that it is given at once; more than it reads in a batch, so that several are read.
        persons: whether a column may say whose a record is, as in `LimitedRecords`.

    Raises:
        AssertionError: the counts of records of any number, in either order, are not those of a loop; nor where values
            are unknown or missing, and a rule says what they count as; a value that is refused by the schema is
            counted, or told; a column that is missing is not missed; or of a person's records more than are protected
            count, or others.  The message says which.

    Source: docs/data.md; eq. (103).

    Example:
        >>> import pandas as pd
        >>> check_source(pd.DataFrame)
    """
    plan, remedy = _plan(_DOMAIN, 1), "read every record once, and each entry as it is"
    for count in (0, 1, 7, records):
        columns = _some_records(count)
        for words, given in _both_ways(columns):
            _require_counts(plan, make(given), _by_hand(columns), f"the counts of {count} records{words}", remedy)
    strict = _plan(_STRICT, 1)
    right: Columns = {"text": _TEXTS, "code": [0, 1, 2]}
    wrong_entries: list[tuple[str, Any]] = [("text", _PRIVATE), ("text", None), ("code", 7351), ("code", -1)]
    for name, wrong in wrong_entries:
        _require_refusal(strict, make(right | {name: [*right[name][:2], wrong]}), f"{wrong!r} in the column {name!r}")
    _require_refusal(strict, make({"text": _TEXTS}), "no column 'code'")
    if persons:
        _require_persons(make, _some_records(records))


def _both_ways(columns: Columns) -> Iterator[tuple[str, Columns]]:
    yield "", columns
    yield ", the last one first", {name: entries[::-1] for name, entries in columns.items()}


def _require_counts(plan: Plan, data: object, expected: IntArray, what: str, remedy: str) -> None:
    try:
        found = _counted(plan, data)
    except DataError as error:
        raise AssertionError(f"{what}: the records are refused, though they fit the schema: {error}") from error
    agree(found, expected, what, remedy)


def _require_refusal(plan: Plan, data: object, what: str) -> None:
    """That records are refused, and that the error holds no entry and leads to none."""
    try:
        measure(plan, data, noise="gaussian", seed=0)
    except DataError as error:
        is_told = "7351" in str(error) or error.__cause__ is not None or error.__context__ is not None
        require(not is_told, f"the error for records with {what} tells an entry; name the column and the rule")
    else:
        raise AssertionError(f"records with {what} are counted; give entries as they are, so that they are refused")


def _require_persons(make: Callable[[Columns], object], columns: Columns) -> None:
    """That of each person the first records count, so that one who comes or goes changes the counts by so many."""
    plan, counted, first = _plan(_DOMAIN, _KEEP), Counter[int](), list[int]()
    for row in sorted(range(len(columns["when"])), key=columns["when"].__getitem__):
        if _cell(columns, row) is not None:  # what is left out takes nobody's place
            counted[columns["who"][row]] += 1
            first += [row] if counted[columns["who"][row]] <= _KEEP else []
    kept = {name: [entries[row] for row in first] for name, entries in columns.items()}
    remedy = "look at how the columns of persons and of their order are read"
    for words, given in _both_ways(columns):
        limited = LimitedRecords(make(given), person="who", keep=_KEEP, order="when")
        what = f"the counts of the first {_KEEP} records of each person{words}"
        _require_counts(plan, limited, _by_hand(kept), what, remedy)
    total = _counted(plan, LimitedRecords(make(columns), person="who", keep=_KEEP)).sum()
    agree(total, len(first), f"the number of any {_KEEP} records of each person", remedy)


def _some_records(count: int) -> Columns:
    """The same ones each time, with entries of every sort, and a column that is no attribute."""
    chance = np.random.default_rng(5)
    values: dict[str, list[Any]] = {
        "text": [*_TEXTS, _PRIVATE, "1 ", None],
        "code": [0, 1, 2],
        "number": [0.0, 1.0, 1.5, 10.0, 10.5, -1.0, None],
        "beside": ["x", "y"],
    }
    columns = {name: [own[chance.integers(len(own))] for _ in range(count)] for name, own in values.items()}
    order = chance.permutation(count).tolist()
    return columns | {"who": [int(chance.integers(_PERSONS)) for _ in range(count)], "when": order}


def _cell(columns: Columns, row: int) -> tuple[int, int, int] | None:
    """The cell of a record after the rules of the domain; None where it is left out."""
    text, code, number = (columns[name][row] for name in _DOMAIN.names)
    if text is None or (number is not None and not _EDGES[0] <= number <= _EDGES[-1]):
        return None
    bin_number = int(number is not None and number >= _EDGES[1])
    return _TEXTS.index(text) if text in _TEXTS else len(_TEXTS), code, bin_number


def _by_hand(columns: Columns) -> IntArray:
    counts = np.zeros(_DOMAIN.sizes, dtype=np.int64)
    for cell in (_cell(columns, row) for row in range(len(columns["code"]))):
        if cell is not None:
            counts[cell] += 1
    return counts


def _plan(domain: Domain, records_per_person: int) -> Plan:
    workload = marginals(domain, order=len(domain))
    return select(workload, budget=pcost("1e12"), records_per_person=records_per_person)


def _counted(plan: Plan, data: object) -> IntArray:
    release = reconstruct(measure(plan, data, noise="gaussian", seed=0))
    return np.rint(release[plan.domain.names].estimate).astype(np.int64)

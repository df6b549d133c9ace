"""The same dates in every container give the counts of the calendar; what is no date is refused, and not shown."""

import datetime as dt
from itertools import pairwise

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import counts
from residualplanner import Attribute, Bins, Domain

#: Half-years, with a label for all other dates and one for none.
EDGES = [dt.date(1969, 7, 1), dt.date(1970, 1, 1), dt.date(2020, 3, 1)]
WHEN = Attribute("when", bins=Bins(EDGES), unknown="another time", missing="Not stated")
DOMAIN = Domain({"when": WHEN})
BOUNDARIES = [
    dt.datetime.combine(edge, dt.time()) + dt.timedelta(seconds=step) for edge in EDGES for step in (-1, 0, 1)
]
MOMENTS = st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2021, 1, 1)) | st.sampled_from(BOUNDARIES)


def expected_counts(column):
    found = [0, 0, 0, 0]
    for moment in column:
        if moment is None:
            found[3] += 1
        else:
            inside = [low <= moment.date() < high for low, high in pairwise(EDGES)]
            found[inside.index(True) if any(inside) else 2] += 1
    return found


def dates(column):
    return pa.table({"when": pa.array([None if moment is None else moment.date() for moment in column], pa.date32())})


def moments(column, unit="us"):
    return pa.table({"when": pa.array(column, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)})


CONTAINERS = {
    "date64": lambda column: dates(column).cast(pa.schema([("when", pa.date64())])),
    **{f"moments in {unit}": lambda column, unit=unit: moments(column, unit) for unit in ("s", "ms", "ns")},
    "dictionary": lambda column: pa.table({"when": dates(column)["when"].dictionary_encode()}),
    "pandas in seconds": lambda column: pd.DataFrame({"when": pd.array(column, dtype="datetime64[s]")}),
    "pandas, text": lambda column: pd.DataFrame({"when": [None if m is None else str(m) for m in column]}),
    "DuckDB's own date": lambda column: duckdb.from_arrow(moments(column)).project('"when"::DATE AS "when"'),
}


@pytest.mark.parametrize("name", CONTAINERS)
@given(column=st.lists(st.none() | MOMENTS, min_size=1, max_size=20))
@settings(max_examples=15)
def test_every_container_counts_like_the_calendar(name, column):
    assert counts(CONTAINERS[name](column), DOMAIN) == expected_counts(column)


@pytest.mark.parametrize("entry", ["2020-02-30", "2020-01-01T00:00Z", "1868-01-01", "canary"])
def test_an_entry_outside_the_declared_dates_breaks_the_rule_and_is_not_shown(entry, tmp_path):
    (tmp_path / "a.csv").write_text(f"when\n1969-12-31\n{entry}\n")
    with pytest.raises(rp.errors.DataError, match="column 'when' has values outside its schema") as told:
        counts(tmp_path / "a.csv", Domain({"when": Bins(EDGES)}))
    assert entry not in str(told.value)

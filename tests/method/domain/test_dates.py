"""Dates, and bins of them: which day an entry means, against the calendar of the standard library."""

import datetime as dt
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from column_codes import MISSING, UNKNOWN, codes_of_days, codes_of_entries, codes_of_numbers
from residualplanner import Attribute, Bins

EPOCH = dt.date(1970, 1, 1)
dates = st.dates(dt.date(1899, 12, 1), dt.date(2101, 1, 31))
edges = st.lists(dates, min_size=2, max_size=6, unique=True).map(sorted)
times = st.times().filter(lambda time: time.tzinfo is None)


def expected_code(bins, date):
    """The bin that a date is in, by the words of the manual."""
    for code, (low, high) in enumerate(pairwise(bins.edges)):
        is_after = low == -math.inf or (low != math.inf and low <= date)
        if is_after and (high == math.inf or date < high):
            return code
    return UNKNOWN


def spellings(date, time):
    """What a date, or a time of day on it, may look like in the records."""
    moment = dt.datetime.combine(date, time)
    return [
        *(date, moment, date.isoformat(), moment.isoformat(), moment.isoformat(" "), str(moment)),
        *(pd.Timestamp(moment), np.datetime64(date), np.datetime64(moment, "us"), np.datetime64(moment, "s")),
    ]


@given(data=st.data(), edges=edges, time=times, low=st.booleans(), high=st.booleans())
def test_every_spelling_of_a_date_is_in_its_bin_and_has_its_label(data, edges, time, low, high):
    date = data.draw(dates | st.sampled_from(edges))
    bins = Bins([-math.inf] * low + edges + [math.inf] * high)
    listed = Attribute("a", labels=edges)
    assert listed.value_labels == tuple(label.isoformat() for label in edges)
    for attribute, code in (
        (Attribute("a", bins=bins), expected_code(bins, date)),
        (listed, edges.index(date) if date in edges else UNKNOWN),
    ):
        assert codes_of_entries(attribute, spellings(date, time)).tolist() == [code] * len(spellings(date, time))
        assert codes_of_days(attribute, np.array([(date - EPOCH).days])).tolist() == [code]


ATTRIBUTES = [
    Attribute("a", labels=[dt.date(2020, 1, 1)]),
    Attribute("a", bins=Bins(["2020-01-01", "2021-01-01"])),
    Attribute("a", bins=Bins([-math.inf, "2020-01-01", math.inf])),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize(
    "entry",
    [
        *("2020-02-30", "2019-02-29", "2020-1-1", "20200101", "2020-01", "2020", "01/02/2020", " 2020-01-01"),
        *("2020-01-01Z", "2020-01-01T00:00Z", "2020-01-01T00:00:00+00:00", "2020-01-01 24:00", "2020-01-01T12"),
        *("2020-01-01 10:00:60", "2020-01-01  10:00", "0000-01-01", "١٩٧٠-01-01", "2020-01-01\n"),
        *(20200101, 2020, 18262.0, True, b"2020-01-01", dt.time(1), dt.timedelta(1), pd.Period("2020-01"), ["x"]),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        pd.Timestamp("2020-01-01", tz="Europe/Oslo"),
        *(np.datetime64("2020"), np.datetime64("2020-01"), np.timedelta64(1, "D")),
    ],
)
def test_what_is_no_date_on_its_own_is_unknown(attribute, entry):
    assert codes_of_entries(attribute, [entry]).tolist() == [UNKNOWN]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_missing_dates_are_missing(attribute):
    entries = [None, pd.NaT, pd.NA, math.nan, np.datetime64("NaT", "s")]
    assert codes_of_entries(attribute, entries).tolist() == [MISSING] * len(entries)


def test_no_number_is_a_date_and_no_date_a_number():
    for attribute in ATTRIBUTES:
        assert codes_of_numbers(attribute, np.array([18262, 2020])).tolist() == [UNKNOWN] * 2
    assert codes_of_days(Attribute("a", 10**6), np.array([18262])).tolist() == [UNKNOWN]
    assert (
        codes_of_entries(Attribute("a", bins=Bins([0, 10**6])), ["2020-01-01", dt.date(2020, 1, 1)]).tolist()
        == [UNKNOWN] * 2
    )


@given(first=dates, count=st.integers(0, 40))
def test_months_hold_each_of_their_days_and_no_other(first, count):
    last_number = first.year * 12 + first.month - 1 + count
    bins = Bins.months(first, f"{last_number // 12:04}-{last_number % 12 + 1:02}")
    assert len(bins) == count + 1
    attribute = Attribute("a", bins=bins)
    for code, (low, high) in enumerate(pairwise(bins.edges)):
        assert (low.day, high.day) == (1, 1)
        assert 28 <= (high - low).days <= 31
        assert bins.labels[code] == low.isoformat()[:7]
        ends = [low, high - dt.timedelta(1)]
        assert {day.isoformat()[:7] for day in ends} == {bins.labels[code]}
        assert codes_of_entries(attribute, ends).tolist() == [code] * 2
    assert codes_of_entries(attribute, [bins.edges[0] - dt.timedelta(1), bins.edges[-1]]).tolist() == [UNKNOWN] * 2


def test_years_hold_each_of_their_days_leap_days_too():
    attribute = Attribute("born", bins=Bins.years(1899, 1904))
    assert attribute.value_labels == ("1899", "1900", "1901", "1902", "1903", "1904")
    days = ["1899-01-01", "1899-12-31", "1900-02-28", "1904-02-29", "1904-12-31", "1905-01-01", "1900-02-29"]
    assert codes_of_entries(attribute, days).tolist() == [0, 0, 1, 5, 5, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda edge=edge: Bins(["2020-01-01", edge]), "must be numbers, or else all of them dates")
            for edge in (5, "2020-13-01", "2020-02-01 00:00")
        ),
        *(
            (lambda edge=edge: Bins(["2020-01-01", edge]), "no time of day and no time zone")
            for edge in (dt.datetime(2020, 2, 1, 12), dt.datetime(2020, 2, 1, tzinfo=dt.UTC))
        ),
        (lambda: Bins(["2020-02-01", np.datetime64("12020-01-01")]), "in the years 1 to 9999"),
        (lambda: Bins(["2020-02-01", "2020-01-01"]), "increasing, .*; edge 2 is not above edge 1"),
        (lambda: Bins.months("2020-02", "2020-01"), "first and a last of them, in this order"),
        *((lambda first=first: Bins.months(first, "2021"), "a month is written as") for first in ("2020", "2020-00")),
        (lambda: Bins.months("9999-11", "9999-12"), "the calendar ends"),
        (lambda: Bins.months("0001-01", "9999-01"), "at most 10,000"),
        *((lambda first=first: Bins.years(first, 2021), "years are integers") for first in ("2020", True)),
        (lambda: Bins.years(2021, 2020), "in this order"),
        (lambda: Bins.years(2020, 9999), "years are integers from 1 to 9998"),
        (lambda: Attribute("a", labels=[dt.date(2020, 1, 1), "x"]), "labels are strings, integers or truth values"),
        (lambda: Attribute("a", labels=[dt.datetime(2020, 1, 1, 1)]), "a time of day or a time zone"),
        (lambda: Attribute("a", labels=[dt.date(2020, 1, 1)] * 2), "has a label twice: labels 1 and 2 are the same"),
    ],
)
def test_bad_dates_are_refused(make, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        make()

"""Where no rule drops records, every reader's total is their number, and all readers count the same."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forms_of_records import FORMS, counts
from residualplanner import Attribute, CsvFile, Domain, marginals, measure, pcost, select

NAMES = ("v", "w")
VALUES = ["a", "b", "c", "", " ", "a,b", '"', "a\nb", "\r", "\0", "é", "nan", "0", None]
RECORDS = st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), max_size=12)
#: Without newlines in values, and of no records no batch.
OTHERS = {"CSV", "Arrow, batch"}


def domain_of(columns):
    rules = {"labels": ["a", "b"], "unknown": "b", "missing": "b"}
    return Domain({name: Attribute(name, **rules) for name in NAMES[:columns]})


def total_and_first(data, columns):
    return [counts(data, domain_of(columns), ()), *counts(data, domain_of(columns))]


def csv_of_python(table, folder):
    with open(folder / "python.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)])
    return CsvFile(folder / "python.csv", newlines_in_values=True)


SOURCES = {"CSV of Python": csv_of_python} | {name: form for name, form in FORMS.items() if name not in OTHERS}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@given(records=RECORDS, columns=st.integers(1, 2))
@example(records=[("a", None), (None, None), ("a", None)], columns=1)
@example(records=[(None, None)], columns=1)
@settings(derandomize=True, deadline=None, max_examples=12)
def test_every_readers_total_is_the_number_of_records(make, records, columns, tmp_path_factory):
    values = dict(zip(NAMES[:columns], zip(*records, strict=True), strict=False)) or dict.fromkeys(NAMES[:columns], ())
    table = pa.table({name: pa.array(column, pa.string()) for name, column in values.items()})
    folder, domain = tmp_path_factory.mktemp("totals"), domain_of(columns)
    found = [value for value, _ in records]
    assert counts(make(table, folder), domain, ()) == len(records)
    assert counts(make(table, folder), domain) == [found.count("a"), len(records) - found.count("a")]


@given(codes=st.lists(st.integers(-3, 3), max_size=12))
@settings(derandomize=True, deadline=None)
def test_codes_and_counts_have_the_same_total(codes):
    expected = [len(codes), codes.count(0), len(codes) - codes.count(0)]
    assert total_and_first(np.array(codes, dtype=int).reshape(-1, 1), 1) == expected
    assert total_and_first({("v",): np.array(expected[1:])}, 1) == expected


@pytest.mark.parametrize("text", ["v\na\nb\na\n", "v\na\n\na\n", 'v\na\n""\na', 'v\na\n"a\na\n'])
def test_where_records_are_replaced_the_published_total_tells_nothing(text, tmp_path):
    (tmp_path / "people.csv").write_text(text)
    plan = select(marginals(domain_of(1), up_to=1), budget=pcost(1), neighbors="replace")
    measurement = measure(plan, tmp_path / "people.csv", noise="gaussian", seed=1)
    assert round(float(measurement.residuals.values[0]), 3) == 3

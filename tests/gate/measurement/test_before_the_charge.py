"""What can be told of records without counting them is told before the ledger is charged."""

import gzip
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import residualplanner as rp
from residualplanner import Attribute, CsvFile, Domain, Ledger, LimitedRecords, marginals, measure, pcost, select

RULES = {"unknown": "X", "missing": "X"}
STRICT = Domain({"sex": ["F", "M"], "age": 3})
DECLARED = Domain({"sex": Attribute("sex", labels=["F", "M", "X"], **RULES), "age": Attribute("age", 3, unknown=0)})


def plan_of(domain):
    return select(marginals(domain, up_to=2), budget=pcost(1))


def file_of(text):
    def written(folder):
        (folder / "people.csv").write_bytes(text)
        return folder / "people.csv"

    return written


def parts(folder):
    pd.DataFrame({"sex": ["F"], "age": [0]}).to_parquet(folder / "0.parquet")
    pd.DataFrame({"sex": ["F"], "Age": [0]}).to_parquet(folder / "1.parquet")
    return folder


def cut_off(folder):
    text = gzip.compress(b"sex,age\n" + b"F,0\nM,1\n" * 10_000)
    (folder / "people.csv.gz").write_bytes(text[:-20])
    return folder / "people.csv.gz"


WRONG_FORM = {
    "no such column": file_of(b"sex,Age\nF,0\n"),
    "semicolons": file_of(b"sex;age\nF;0\n"),
    "a type that matches nothing": lambda _: pa.table({"sex": [1, 2], "age": [0, 1]}),
    "a part of other columns": parts,
    "counts that contradict": lambda _: {("sex",): np.array([1, 2]), ("age",): np.array([1, 1, 2])},
    "a matrix of floats": lambda _: np.zeros((2, 2)),
    "a file that has been cut off": cut_off,
    "no file": lambda folder: folder / "nowhere.csv",
}
WRONG_LINES = {
    "an open quote": file_of(b'sex,age,note\nF,0,"x\nM,1,y\n'),
    "a quote in a field": file_of(b'sex,age,note\nF,0,5" tall\nM,1,y\n'),
    "too few fields": file_of(b"sex,age,note\nF,0\nM,1,y\n"),
    "too many fields": file_of(b"sex,age,note\nF,0,x,y\nM,1,y\n"),
    "an empty line": file_of(b"sex,age,note\nF,0,x\n\nM,1,y\n"),
    "an empty line at the end": file_of(b"sex,age,note\nF,0,x\n\n"),
}


@pytest.mark.parametrize("make", WRONG_FORM.values(), ids=WRONG_FORM)
@pytest.mark.parametrize("domain", [STRICT, DECLARED], ids=["strict", "declared"])
def test_a_form_that_cannot_be_counted_costs_nothing(make, domain, tmp_path):
    if isinstance(data := make(tmp_path), dict) and domain is DECLARED:
        data[("sex",)] = np.append(data["sex",], 0)
    ledger = Ledger(pcost(1))
    with pytest.raises(rp.errors.DataError):
        measure(plan_of(domain), data, ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize("make", WRONG_LINES.values(), ids=WRONG_LINES)
def test_lines_that_are_no_records_cost_nothing_where_they_are_an_error_and_else_follow_the_rules(make, tmp_path):
    ledger, data = Ledger(pcost(1)), make(tmp_path)
    with pytest.raises(rp.errors.DataError, match=r"has lines .*declare unknown= for every attribute"):
        measure(plan_of(STRICT), data, ledger=ledger)
    assert ledger.entries == ()
    measure(plan_of(DECLARED), data, ledger=ledger)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("make", [*WRONG_LINES.values(), cut_off], ids=[*WRONG_LINES, "cut off"])
@pytest.mark.parametrize("options", [{}, {"memory": 10**8}], ids=["", "in blocks"])
def test_where_the_charge_comes_first_no_line_of_a_file_decides_whether_it_is_made(make, options, tmp_path):
    ledger, data = Ledger(pcost(2)), make(tmp_path)
    for source in (data, CsvFile(data, newlines_in_values=True)):
        with pytest.raises(rp.errors.DataError, match="The charge stays"):
            measure(plan_of(STRICT), source, ledger=ledger, charge="first", again=True, **options)
    assert ledger.spent > 1


CONTENTS = {
    "a masked matrix": np.ma.masked_array(np.zeros((2, 2), dtype=int), mask=[[True, False], [False, False]]),
    "counts that contradict": {("sex",): np.array([1, 2]), ("age",): np.array([1, 1, 2])},
    "negative counts": {("sex", "age"): np.array([[1, 2, 3], [1, -1, 3]])},
    "masked counts": {("sex", "age"): np.ma.masked_array([[1, 2, 3], [1, 1, 3]], mask=[[True] * 3, [False] * 3])},
    "counts too large": {("sex", "age"): np.full((2, 3), 2**61)},
    "a column without entries": pd.DataFrame({"sex": ["F", "M"], "age": [None, None]}),
}


@pytest.mark.parametrize("data", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("charge", ["first", "counted"])
@pytest.mark.parametrize("into", [[], ["store"]], ids=["memory", "store"])
def test_where_the_charge_comes_first_nothing_in_the_records_decides_whether_it_is_made(data, charge, into, tmp_path):
    ledger, gate = Ledger(pcost(1)), rp.scale.measure_in_store if into else measure
    with pytest.raises(rp.errors.DataError, match="The charge stays" if charge == "first" else "Nothing was charged"):
        gate(plan_of(STRICT), data, *(tmp_path / name for name in into), ledger=ledger, charge=charge)
    assert len(ledger.entries) == (charge == "first")


def test_people_are_not_limited_in_records_that_do_not_name_them_whatever_is_in_these():
    messages = set()
    for data in [np.zeros((2, 2), dtype=int), *list(CONTENTS.values())[:-1]]:
        with pytest.raises(rp.errors.DataError, match="does not say whose a record is") as caught:
            measure(plan_of(STRICT), LimitedRecords(data, person="id"), ledger=Ledger(pcost(1)), charge="first")
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_newlines_in_values_are_read_where_they_are_asked_for(tmp_path):
    file = file_of(b'sex,age,note\nF,0,"two\nlines"\n')(tmp_path)
    with pytest.raises(rp.errors.DataError, match=r"CsvFile\(path, newlines_in_values=True\)"):
        measure(plan_of(STRICT), file)
    measurement = measure(plan_of(STRICT), CsvFile(file, newlines_in_values=True), noise="gaussian", seed=1)
    assert len(measurement.residuals.values) == 6


def test_records_that_cannot_be_paid_for_are_not_opened(monkeypatch):
    def never(*_arguments):
        raise AssertionError("records were opened")

    monkeypatch.setattr(import_module("residualplanner.gate.measurement.measure"), "open_source", never)
    with pytest.raises(rp.errors.BudgetError, match="the ledger has"):
        measure(plan_of(STRICT), np.zeros((1, 2), dtype=int), ledger=Ledger(pcost("1/2")))

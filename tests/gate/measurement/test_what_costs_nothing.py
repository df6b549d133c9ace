"""What records do not fit costs nothing, whatever it is and whoever measures, unless the charge comes first."""

import datetime as dt
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import residualplanner as rp
from residualplanner import Attribute, CsvFile, Domain, Ledger, LimitedRecords, pcost

REPLACE = {"neighbors": "replace"}
YEARS = Attribute("year", bins=rp.Bins([dt.date(1984, 1, 1), dt.date(1988, 1, 1)]))
PEOPLE = Domain({"sex": ["F", "M"]})
LENIENT = Domain({"sex": Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="?")})
STRICT = Domain({"sex": ["F", "M"], "age": 3})
RULES = {"unknown": "X", "missing": "X"}
DECLARED = Domain({"sex": Attribute("sex", labels=["F", "M", "X"], **RULES), "age": Attribute("age", 3, unknown=0)})


def csv_of(text, encoding="utf-8"):
    def written(folder):
        (folder / "records.csv").write_bytes(text.encode(encoding))
        return folder / "records.csv"

    return written


def interrupted(_folder):
    """Records whose reading is interrupted: their number is looked at when they are counted."""
    once = [KeyboardInterrupt]

    class Frame(pd.DataFrame):
        def __len__(self):
            if once:
                raise once.pop()
            return super().__len__()

    return Frame({"sex": ["F", "M"]})


def measured(plan, records, folder, **options):
    return rp.measure(plan, records, **options)


def in_blocks(plan, records, folder, **options):
    return rp.measure(plan, records, memory=10**6, **options)


def in_store(plan, records, folder, **options):
    return rp.scale.measure_in_store(plan, records, folder / "store", **options)


def in_session(plan, records, folder, *, ledger, **options):
    return rp.Session(records, ledger=ledger).release(plan, **options)


def by_rap(plan, records, folder, **options):
    plan = rp.fits.rap.RapPlan(plan.workload, budget=plan.budget, neighbors="add-remove", rounds=1, choices=1)
    return rp.fits.rap.rap(plan, records, **options)


MASK = [[True, False], [False, False]]
CONTRADICTING = {("sex",): np.array([1, 2]), ("age",): np.array([1, 1, 2])}
#: Schema and records, and what the refusal says.
ON_ALL_ROADS = {
    "dates against integers": (Domain({"year": YEARS}), csv_of("year\n1984\n1988\n"), "'year' has values outside"),
    "a file in latin-1": (Domain({"town": ["Zürich", "Genf"]}), csv_of("town\nZürich\n", "latin-1"), "as UTF-8"),
    "a value outside the schema": (PEOPLE, csv_of("sex\nX\n"), "outside its schema"),
    "a record without a person": (
        PEOPLE,
        lambda folder: LimitedRecords(csv_of("sex,id\nF,1\nM,\n")(folder), person="id"),
        "does not say whose each record is",
    ),
    "Ctrl-C": (PEOPLE, interrupted, None),
}
#: Matrices and counts that are spoiled.
CONTENTS = {
    "a masked matrix": np.ma.masked_array(np.zeros((2, 2), dtype=int), mask=MASK),
    "counts that contradict": CONTRADICTING,
    "negative counts": {("sex", "age"): np.array([[1, 2, 3], [1, -1, 3]])},
    "masked counts": {("sex", "age"): np.ma.masked_array([[1, 2, 3], [1, 1, 3]], mask=[[True] * 3, [False] * 3])},
    "counts too large": {("sex", "age"): np.full((2, 3), 2**61)},
    "a column without entries": pd.DataFrame({"sex": ["F", "M"], "age": [None, None]}),
}
CASES = {
    **{
        f"{name}, {road.__name__}": (*case, road)
        for name, case in ON_ALL_ROADS.items()
        for road in (measured, in_blocks, in_store, in_session, by_rap)
    },
    **{
        f"{name}, {road.__name__}": (STRICT, lambda _, data=data: data, None, road)
        for name, data in CONTENTS.items()
        for road in (measured, in_store)
    },
}


def plan_of(domain, budget="1/4"):
    return rp.select(rp.marginals(domain, up_to=2), budget=pcost(budget))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.mark.parametrize("charge", ["counted", "first"])
@pytest.mark.parametrize(("domain", "make", "words", "road"), CASES.values(), ids=CASES)
def test_records_that_cannot_be_counted_cost_nothing_unless_the_charge_comes_first(
    domain, make, words, road, charge, folder
):
    ledger = Ledger(pcost(1))
    with pytest.raises((rp.errors.DataError, KeyboardInterrupt), match=words) as caught:
        road(plan_of(domain), make(folder), folder.parent, ledger=ledger, charge=charge)
    notes = " ".join(getattr(caught.value, "__notes__", [])) + str(caught.value)
    assert len(ledger.entries) == (charge == "first")
    assert ("The charge stays" in notes) == (charge == "first")
    assert ("Nothing was charged" in notes) == (charge == "counted")
    assert (folder.parent / "store" / "release.json").exists() == (road is in_store and charge == "first")


def parts(folder):
    pd.DataFrame({"sex": ["F"], "age": [0]}).to_parquet(folder / "0.parquet")
    pd.DataFrame({"sex": ["F"], "Age": [0]}).to_parquet(folder / "1.parquet")
    return folder


def cut_off(folder):
    text = gzip.compress(b"sex,age\n" + b"F,0\nM,1\n" * 10_000)
    (folder / "people.csv.gz").write_bytes(text[:-20])
    return folder / "people.csv.gz"


WRONG_FORM = {
    "no such column": csv_of("sex,Age\nF,0\n"),
    "semicolons": csv_of("sex;age\nF;0\n"),
    "a type that matches nothing": lambda _: pa.table({"sex": [1, 2], "age": [0, 1]}),
    "a part of other columns": parts,
    "a matrix of floats": lambda _: np.zeros((2, 2)),
    "a file that has been cut off": cut_off,
    "no file": lambda folder: folder / "nowhere.csv",
}
WRONG_LINES = {
    "an open quote": csv_of('sex,age,note\nF,0,"x\nM,1,y\n'),
    "a quote in a field": csv_of('sex,age,note\nF,0,5" tall\nM,1,y\n'),
    "too few fields": csv_of("sex,age,note\nF,0\nM,1,y\n"),
    "too many fields": csv_of("sex,age,note\nF,0,x,y\nM,1,y\n"),
    "an empty line": csv_of("sex,age,note\nF,0,x\n\nM,1,y\n"),
    "an empty line at the end": csv_of("sex,age,note\nF,0,x\n\n"),
}


@pytest.mark.parametrize("make", WRONG_FORM.values(), ids=WRONG_FORM)
@pytest.mark.parametrize("domain", [STRICT, DECLARED], ids=["strict", "declared"])
def test_a_form_that_cannot_be_counted_costs_nothing(make, domain, folder):
    ledger = Ledger(pcost(1))
    with pytest.raises(rp.errors.DataError):
        rp.measure(plan_of(domain), make(folder), ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize("make", WRONG_LINES.values(), ids=WRONG_LINES)
def test_lines_that_are_no_records_cost_nothing_where_they_are_an_error_and_else_follow_the_rules(make, folder):
    ledger, data = Ledger(pcost(1)), make(folder)
    with pytest.raises(rp.errors.DataError, match=r"has lines .*declare unknown= for every attribute"):
        rp.measure(plan_of(STRICT), data, ledger=ledger)
    assert ledger.entries == ()
    rp.measure(plan_of(DECLARED), data, ledger=ledger)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("make", [*WRONG_LINES.values(), cut_off], ids=[*WRONG_LINES, "cut off"])
@pytest.mark.parametrize("options", [{}, {"memory": 10**8}], ids=["", "in blocks"])
def test_where_the_charge_comes_first_no_line_of_a_file_decides_whether_it_is_made(make, options, folder):
    ledger, data = Ledger(pcost(2)), make(folder)
    for source in (data, CsvFile(data, newlines_in_values=True)):
        with pytest.raises(rp.errors.DataError, match="The charge stays"):
            rp.measure(plan_of(STRICT, 1), source, ledger=ledger, charge="first", again=True, **options)
    assert ledger.spent > 1


def test_people_are_not_limited_in_records_that_do_not_name_them_whatever_is_in_these():
    messages = set()
    for data in [np.zeros((2, 2), dtype=int), *list(CONTENTS.values())[:-1]]:
        with pytest.raises(rp.errors.DataError, match="does not say whose a record is") as caught:
            rp.measure(plan_of(STRICT), LimitedRecords(data, person="id"), ledger=Ledger(pcost(1)), charge="first")
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.parametrize("line", ['"M,2', "M,2,3", "", "M,", ",", "X,3"], ids=repr)
@pytest.mark.parametrize("road", [measured, by_rap])
def test_no_line_fails_a_run_where_every_rule_is_lenient_and_people_are_limited(line, road, folder):
    """A record that names nobody is in no table: with little noise there are the two others, and one of somebody."""
    records = LimitedRecords(csv_of(f"sex,id\nF,1\nM,1\nF,2\n{line}\n")(folder), person="id")
    ledger = Ledger(pcost(10**7))
    found = road(plan_of(LENIENT, 10**6), records, folder, ledger=ledger)
    assert len(ledger.entries) == 1
    if road is measured:
        total = float(rp.reconstruct(found)[()].estimate.sum())
        assert round(total) == 2 + (line == "X,3")


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_rap_of_no_records_whose_number_is_public_costs_nothing(charge):
    plan = rp.fits.rap.RapPlan(rp.marginals(PEOPLE, order=1), budget=pcost("1/4"), rounds=1, choices=1, **REPLACE)
    ledger = Ledger(pcost(1), **REPLACE)
    with pytest.raises(rp.errors.DataError, match="there are no records"):
        rp.fits.rap.rap(plan, np.empty((0, 1), dtype=int), ledger=ledger, charge=charge)
    assert len(ledger.entries) == (charge == "first")


def test_counts_that_a_later_block_lacks_cost_nothing():
    plan = plan_of(Domain(dict.fromkeys("abc", 6)))
    counts = {("a", "b"): np.ones((6, 6), int), ("a", "c"): np.ones((6, 6), int)}
    ledger = Ledger(pcost(1))
    for options in ({}, {"memory": 4000}):
        with pytest.raises(rp.errors.DataError, match="no table of counts holds the attributes 'b' and 'c'"):
            rp.measure(plan, counts, ledger=ledger, **options)
    assert ledger.entries == ()


def test_a_budget_that_another_spends_while_records_are_counted_is_not_spent_twice(tmp_path):
    """The room is there when the count begins, and gone when it ends: nothing is charged, and nothing is handed out."""
    ledger, plan = Ledger.create(tmp_path / "ledger", budget=pcost("1/4"), data_set="d"), plan_of(PEOPLE)

    def spend(done, _total):
        if done == 1:
            Ledger.open(tmp_path / "ledger").charge(ledger.remaining, "0" * 64, neighbors="add-remove")

    with pytest.raises(rp.errors.BudgetError, match="the ledger has") as caught:
        rp.measure(plan, np.zeros((3, 1), int), ledger=ledger, progress=spend)
    assert len(ledger.entries) == 1
    assert "charge stays" not in " ".join(getattr(caught.value, "__notes__", []))

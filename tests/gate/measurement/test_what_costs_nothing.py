"""What records do not fit costs nothing, whatever it is and whoever measures, unless the charge comes first."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import residualplanner as rp
from residualplanner.gate.measurement.measure import require_measurable
from residualplanner.shell.cli.app import app

REPLACE = {"neighbors": "replace"}
YEARS = rp.Attribute("year", bins=rp.Bins([dt.date(1984, 1, 1), dt.date(1988, 1, 1)]))
PEOPLE = rp.Domain({"sex": ["F", "M"]})
LENIENT = rp.Domain({"sex": rp.Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="?")})


def csv_of(folder, text, encoding="utf-8"):
    path = folder / "records.csv"
    path.write_bytes(text.encode(encoding))
    return path


def folder_of(folder, *columns):
    for number, months in enumerate(columns):
        table = pa.table({"sex": ["F", "M"], "id": [1, 2], "month": months})
        pq.write_table(table, folder / f"{number}.parquet")
    return rp.LimitedRecords(folder, person="id", order="month")


def interrupted(folder):
    """Records whose reading is interrupted: their number is looked at when they are counted."""
    once = [KeyboardInterrupt]

    class Frame(pd.DataFrame):
        def __len__(self):
            if once:
                raise once.pop()
            return super().__len__()

    del folder
    return Frame({"sex": ["F", "M"]})


#: Schema and records, and what the refusal says.
CASES = {
    "dates against integers": (
        rp.Domain({"year": YEARS}),
        lambda folder: csv_of(folder, "year\n1984\n1988\n"),
        "column 'year' has values outside its schema",
    ),
    "a file in latin-1": (
        rp.Domain({"town": ["Zürich", "Genf"]}),
        lambda folder: csv_of(folder, "town\nZürich\n", "latin-1"),
        "save it as UTF-8",
    ),
    "a value outside the schema": (PEOPLE, lambda folder: csv_of(folder, "sex\nX\n"), "outside its schema"),
    "a record without a person": (
        PEOPLE,
        lambda folder: rp.LimitedRecords(csv_of(folder, "sex,id\nF,1\nM,\n"), person="id"),
        "does not say whose each record is",
    ),
    "Ctrl-C": (PEOPLE, interrupted, None),
}
#: The records of a person are ordered by a column of these types in the files of a folder.
ORDERS = {
    "integers, and floats where a month is missing": ([1, 2], [1.0, None]),
    "dates and text": ([dt.date(2020, 1, 1)] * 2, ["2020-01-01", "2020-01-02"]),
    "signed and unsigned integers": ([1, 2], pa.array([1, 2**63], pa.uint64())),
}


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


ROADS = [measured, in_blocks, in_store, in_session, by_rap]


@pytest.mark.parametrize("charge", ["counted", "first"])
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("case", CASES)
def test_records_that_cannot_be_counted_cost_nothing_unless_the_charge_comes_first(case, road, charge, tmp_path):
    domain, make, words = CASES[case]
    plan = rp.select(rp.marginals(domain, up_to=1), budget=rp.pcost("1/4"))
    ledger = rp.Ledger(rp.pcost(1))
    (tmp_path / "data").mkdir()
    with pytest.raises((rp.errors.DataError, KeyboardInterrupt), match=words) as caught:
        road(plan, make(tmp_path / "data"), tmp_path, ledger=ledger, charge=charge)
    notes = " ".join(getattr(caught.value, "__notes__", []))
    assert len(ledger.entries) == (charge == "first")
    assert ("The charge stays" in notes) == (charge == "first")
    assert ("Nothing was charged to the ledger." in notes) == (charge == "counted")
    assert (tmp_path / "store" / "release.json").exists() == (road is in_store and charge == "first")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("types", ORDERS)
def test_an_order_of_several_types_in_the_files_of_a_folder_costs_nothing_if_it_is_refused(types, road, tmp_path):
    plan = rp.select(rp.marginals(PEOPLE, up_to=1), budget=rp.pcost("1/4"))
    ledger = rp.Ledger(rp.pcost(1))
    (tmp_path / "data").mkdir()
    try:
        road(plan, folder_of(tmp_path / "data", *ORDERS[types]), tmp_path, ledger=ledger)
    except rp.errors.DataError:
        assert ledger.entries == ()
    else:
        assert len(ledger.entries) == 1


@pytest.mark.parametrize("line", ['"M,2', "M,2,3", "", "M,", ",", "X,3"], ids=repr)
@pytest.mark.parametrize("road", ROADS)
def test_no_line_fails_a_run_where_every_rule_is_lenient_and_people_are_limited(line, road, tmp_path):
    """A record that names nobody is in no table: with little noise there are the two others, and one of somebody."""
    plan = rp.select(rp.marginals(LENIENT, up_to=1), budget=rp.pcost(10**6))
    records = rp.LimitedRecords(csv_of(tmp_path, f"sex,id\nF,1\nM,1\nF,2\n{line}\n"), person="id")
    ledger = rp.Ledger(rp.pcost(10**7))
    found = road(plan, records, tmp_path, ledger=ledger)
    assert len(ledger.entries) == 1
    if road is measured:
        total = float(rp.reconstruct(found)[()].estimate.sum())
        assert round(total) == 2 + (line == "X,3")


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_rap_of_no_records_whose_number_is_public_costs_nothing(charge):
    plan = rp.fits.rap.RapPlan(rp.marginals(PEOPLE, order=1), budget=rp.pcost("1/4"), rounds=1, choices=1, **REPLACE)
    ledger = rp.Ledger(rp.pcost(1), **REPLACE)
    with pytest.raises(rp.errors.DataError, match="there are no records"):
        rp.fits.rap.rap(plan, np.empty((0, 1), dtype=int), ledger=ledger, charge=charge)
    assert len(ledger.entries) == (charge == "first")


def test_counts_that_a_later_block_lacks_cost_nothing():
    domain = rp.Domain(dict.fromkeys("abc", 6))
    plan = rp.select(rp.marginals(domain, up_to=2), budget=rp.pcost("1/4"))
    counts = {("a", "b"): np.ones((6, 6), int), ("a", "c"): np.ones((6, 6), int)}
    ledger = rp.Ledger(rp.pcost(1))
    for options in ({}, {"memory": 4000}):
        with pytest.raises(rp.errors.DataError, match="no table of counts holds the attributes 'b' and 'c'"):
            rp.measure(plan, counts, ledger=ledger, **options)
    assert ledger.entries == ()


def test_a_budget_that_another_spends_while_records_are_counted_is_not_spent_twice(tmp_path):
    """The room is there when the count begins, and gone when it ends: nothing is charged, and nothing is handed out."""
    ledger = rp.Ledger.create(tmp_path / "ledger", budget=rp.pcost("1/4"), data_set="d")
    plan = rp.select(rp.marginals(PEOPLE, up_to=1), budget=rp.pcost("1/4"))

    def spend(done, _total):
        if done == 1:
            rp.Ledger.open(tmp_path / "ledger").charge(require_measurable(plan), "0" * 64, neighbors="add-remove")

    with pytest.raises(rp.errors.BudgetError, match="the ledger has") as caught:
        rp.measure(plan, np.zeros((3, 1), int), ledger=ledger, progress=spend)
    assert len(ledger.entries) == 1
    assert "charge stays" not in " ".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_the_command_line_says_that_a_file_in_latin_1_cost_nothing(charge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    csv_of(tmp_path, "town\nZürich\n", "latin-1")
    spec = 'budget = { zcdp = 0.5 }\n[domain]\ntown = ["Zürich", "Genf"]\n[[workload]]\nup_to = 1\n'
    (tmp_path / "spec.toml").write_text(spec, encoding="utf-8")
    ledger = rp.Ledger.create(tmp_path / "l", budget=rp.zcdp(1), data_set="d")
    arguments = ["release", "spec.toml", "records.csv", "-o", "out", "--ledger", "l", "--charge", charge]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 2, told.output
    assert ("Nothing was charged to the ledger." in told.stderr) == (charge == "counted")
    assert len(ledger.entries) == (charge == "first")

"""Whatever ends a measurement early, what leaves the gate says what was charged and leads to no record."""

import random
import sys
from pathlib import Path

import dask
import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import residualplanner
from leaks import DIGITS, TEXT, leaks_of_error
from residualplanner.domain import Attribute, Bins, Domain
from residualplanner.errors import BudgetError, DataError, ResourceError, UnexpectedError
from residualplanner.ledger import Ledger
from residualplanner.measurement import measure
from residualplanner.plan import select
from residualplanner.privacy import pcost
from residualplanner.workload import marginals

GATE = sys.modules["residualplanner.measurement.measure"]
PACKAGE = str(Path(residualplanner.__file__).parent)
DOMAIN = Domain(
    {
        "name": Attribute("name", labels=["x", "other"], unknown="other"),
        "amount": Attribute("amount", bins=Bins([0, 10, 1e15])),
    }
)
PLAN = select(marginals(DOMAIN, up_to=2), budget=pcost("1/4"))
VALUES = {"name": ["x", f"{TEXT}-1", "x"] * 4, "amount": [1.0, DIGITS * 1e6, 3.0] * 4}


def folder_of_parts(table, path):
    for row in range(2):
        (part := path / "records" / f"name={TEXT}-{row}").mkdir(parents=True)
        pq.write_table(table.drop_columns("name"), part / "part.parquet")
    return path / "records"


def csv_file(path):
    pd.DataFrame(VALUES).to_csv(path / "records.csv", index=False)
    return path / "records.csv"


def dask_frame():
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(pd.DataFrame(VALUES), npartitions=2)


FORMS = {
    "pandas": lambda _: pd.DataFrame(VALUES),
    "polars": lambda _: pl.DataFrame(VALUES),
    "lazy": lambda _: pl.LazyFrame(VALUES),
    "arrow": lambda _: pa.table(VALUES),
    "duckdb": lambda _: duckdb.connect().from_arrow(pa.table(VALUES)),
    "ibis": lambda _: ibis.memtable(pa.table(VALUES)),
    "dask": lambda _: dask_frame(),
    "csv": csv_file,
    "folder": lambda path: folder_of_parts(pa.table(VALUES), path),
    "counts": lambda _: {("name", "amount"): np.full((2, 2), DIGITS * 10**6)},
}


class StoppedError(Exception):
    """An error of one who wants a run to stop."""


def stop_at(step, failure=StoppedError):
    def progress(done, _total):
        if done >= step:
            try:
                raise LookupError("of one's own")
            except LookupError as error:
                raise failure("enough") from error

    return progress


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", [1, 2, 5])
def test_an_error_of_progress_passes_says_what_was_charged_and_leads_to_no_record(form, step, tmp_path):
    data, ledger = FORMS[form](tmp_path), Ledger(pcost(1))
    with pytest.raises(StoppedError, match="enough") as caught:
        measure(PLAN, data, ledger=ledger, progress=stop_at(step))
    assert leaks_of_error(caught.value, data) == []
    assert len(ledger.entries) == 1
    notes = " ".join(caught.value.__notes__)
    assert "The charge stays: pcost 0.25, entry 1 of the ledger." in notes
    assert "It was raised by progress" in notes


def test_an_error_of_progress_without_a_ledger_says_nothing_of_a_charge():
    with pytest.raises(StoppedError) as caught:
        measure(PLAN, pd.DataFrame(VALUES), noise="gaussian", seed=1, progress=stop_at(1))
    assert "charge" not in " ".join(caught.value.__notes__)


class Interrupting:
    """Raises at one of the lines that are executed in the library; which frames hold what is the library's affair."""

    def __init__(self, line, failure=KeyboardInterrupt):
        self.left, self.failure, self.seen = line, failure, 0

    def __call__(self, frame, event, _argument):
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or name.endswith(("shielding.py", "errors.py")):
            return None
        # The gate's own frame holds the records until it has said that it lets them go.
        is_gate = frame.f_code.co_qualname == "measure"
        if event == "line" and not is_gate:
            self.seen += 1
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise self.failure
        return self


def lines_of(form, path):
    counter = Interrupting(10**9)
    data = FORMS[form](path)
    sys.settrace(counter)
    try:
        measure(PLAN, data, ledger=Ledger(pcost(1)))
    finally:
        sys.settrace(None)
    return counter.seen


def interrupted(data, ledger, line):
    """What measuring ends in when it is interrupted at a line; None where a guard made an error of it, or nothing."""
    sys.settrace(Interrupting(line))
    try:
        measure(PLAN, data, ledger=ledger)
    except KeyboardInterrupt as error:
        return error
    except DataError:
        return None
    finally:
        sys.settrace(None)
    return None


@pytest.mark.parametrize("form", ["pandas", "csv", "counts", "dask"])
def test_an_interrupt_at_any_line_leads_to_no_record_and_says_what_was_charged(form, tmp_path):
    (tmp_path / "first").mkdir()
    lines_of("counts", tmp_path)  # the first measurement of all tests the machine's arithmetic
    total, draw, ends = lines_of(form, tmp_path / "first"), random.Random(1), set()
    assert total > 300
    for number, line in enumerate([0, 1, *sorted(draw.sample(range(total), 40))]):
        (tmp_path / str(number)).mkdir()
        data = FORMS[form](tmp_path / str(number))
        ledger = Ledger.create(tmp_path / f"{number}.ledger", budget=pcost(1), data_set="d")
        error = interrupted(data, ledger, line)
        if error is not None:
            assert leaks_of_error(error, data) == [], line
            is_told = any("The charge stays: pcost 0.25, entry 1" in note for note in getattr(error, "__notes__", []))
            assert is_told == bool(ledger.entries), line
            ends.add(is_told)
    assert ends == {False, True}


def failing(error):
    def fail(*_arguments, **_options):
        raise error

    return fail


@pytest.mark.parametrize("where", ["measure", "exact_noise"])
@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (MemoryError(f"{TEXT}-1"), ResourceError, "there was not enough memory to measure; ask for fewer or smaller"),
        (ValueError(f"{TEXT}-1"), UnexpectedError, "unexpected ValueError at residualplanner/measurement/[em]"),
        (SystemExit(3), SystemExit, "3"),
    ],
)
def test_what_goes_wrong_behind_the_charge_is_told_without_its_text(monkeypatch, where, error, kind, word):
    step = {"measure": "count_tables", "exact_noise": "integer_answers"}[where]
    monkeypatch.setattr(sys.modules[f"residualplanner.measurement.{where}"], step, failing(error))
    data, ledger = pd.DataFrame(VALUES), Ledger(pcost(1))
    with pytest.raises(kind, match=word) as caught:
        measure(PLAN, data, ledger=ledger)
    assert leaks_of_error(caught.value, data) == []
    assert any("The charge stays: pcost 0.25, entry 1" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("error", "kind"), [(MemoryError(f"{TEXT}-1"), ResourceError), (ValueError(f"{TEXT}-1"), UnexpectedError)]
)
def test_what_goes_wrong_while_records_are_opened_charges_nothing_and_is_told_without_its_text(
    monkeypatch, error, kind
):
    monkeypatch.setattr(GATE, "open_source", failing(error))
    data, ledger = pd.DataFrame(VALUES), Ledger(pcost(1))
    with pytest.raises(kind) as caught:
        measure(PLAN, data, ledger=ledger)
    assert leaks_of_error(caught.value, data) == []
    assert ledger.spent == 0
    assert not getattr(caught.value, "__notes__", [])


def test_what_is_refused_before_the_charge_leads_to_no_record_either():
    data, ledger = pd.DataFrame(VALUES), Ledger(pcost("1/8"))
    with pytest.raises(BudgetError, match="left of pcost 1/8") as caught:
        measure(PLAN, data, ledger=ledger)
    assert leaks_of_error(caught.value, data) == []
    assert ledger.spent == 0


def test_the_search_sees_the_frames_of_forms_behind_the_gate(monkeypatch):
    def leaking(data, _domain, **_):
        raise DataError(str(len(data)))

    monkeypatch.setattr(GATE, "shielded", lambda error, _progress: error)
    monkeypatch.setattr(GATE, "open_source", leaking)
    data = pd.DataFrame(VALUES)
    with pytest.raises(DataError) as caught:
        measure(PLAN, data)
    assert "test_the_search_sees_the_frames_of_forms_behind_the_gate.<locals>.leaking: data" in leaks_of_error(
        caught.value, data
    )

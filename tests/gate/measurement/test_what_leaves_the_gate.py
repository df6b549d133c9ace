"""Whatever ends a measurement early, what leaves the gate says what was charged and leads to no record."""

import pandas as pd
import pytest

import residualplanner as rp
from forms_of_records import CHARGED, MARKED, NOT_CHARGED, PLAN, VALUES
from leaks import TEXT, leaks_of_error
from residualplanner import Ledger, measure, pcost


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


#: How many of the steps of progress come before the charge: one, for the only table that is counted.
COUNTED = 1


@pytest.mark.parametrize("form", MARKED)
@pytest.mark.parametrize(("step", "charge"), [(1, "counted"), (2, "counted"), (5, "counted"), (1, "first")])
def test_an_error_of_progress_passes_says_what_was_charged_and_leads_to_no_record(form, step, charge, tmp_path):
    data, ledger = MARKED[form](tmp_path), Ledger(pcost(1))
    with pytest.raises(StoppedError, match="enough") as caught:
        measure(PLAN, data, ledger=ledger, charge=charge, progress=stop_at(step))
    assert leaks_of_error(caught.value, data) == []
    is_charged = step > COUNTED or charge == "first"
    assert len(ledger.entries) == is_charged
    notes = " ".join(caught.value.__notes__)
    assert (CHARGED in notes, NOT_CHARGED in notes) == (is_charged, not is_charged)
    assert "It was raised by progress" in notes


def test_an_error_of_progress_without_a_ledger_says_nothing_of_a_charge():
    with pytest.raises(StoppedError) as caught:
        measure(PLAN, pd.DataFrame(VALUES), noise="gaussian", seed=1, progress=stop_at(1))
    assert "charge" not in " ".join(caught.value.__notes__)


def test_an_interrupt_right_after_the_charge_is_told_which_entry_was_made(monkeypatch):
    ledger, charge = Ledger(pcost(1)), Ledger.charge

    def interrupted(*arguments, **options):
        charge(*arguments, **options)
        raise KeyboardInterrupt

    measure(PLAN, pd.DataFrame(VALUES), ledger=ledger)
    monkeypatch.setattr(Ledger, "charge", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        measure(PLAN, pd.DataFrame(VALUES), ledger=ledger, again=True)
    assert len(ledger.entries) == 2
    assert caught.value.__notes__ == ["The charge stays: pcost 0.25, entry 2 of the ledger."]


def failing(error):
    def fail(*_arguments, **_options):
        raise error

    return fail


@pytest.mark.parametrize(
    ("where", "step", "note"),
    [
        ("measure", "open_source", ""),
        ("measure", "count_tables", NOT_CHARGED),
        ("discrete", "integer_answers", CHARGED),
    ],
)
@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (MemoryError(f"{TEXT}-1"), rp.errors.ResourceError, "there was not enough memory to measure; ask for fewer or"),
        (ValueError(f"{TEXT}-1"), rp.errors.UnexpectedError, "unexpected ValueError at residualplanner/gate/"),
        (SystemExit(3), SystemExit, "3"),
    ],
)
def test_what_goes_wrong_is_told_without_its_text(monkeypatch, where, step, note, error, kind, word):
    monkeypatch.setattr(f"residualplanner.gate.measurement.{where}.{step}", failing(error))
    data, ledger = pd.DataFrame(VALUES), Ledger(pcost(1))
    with pytest.raises(kind, match=word) as caught:
        measure(PLAN, data, ledger=ledger)
    assert leaks_of_error(caught.value, data) == []
    assert len(ledger.entries) == (note == CHARGED)
    notes = " ".join(getattr(caught.value, "__notes__", []))
    assert note in notes
    assert (CHARGED in notes) == (note == CHARGED)


def test_what_is_refused_before_the_charge_leads_to_no_record_either():
    data, ledger = pd.DataFrame(VALUES), Ledger(pcost("1/8"))
    with pytest.raises(rp.errors.BudgetError, match="left of pcost 1/8") as caught:
        measure(PLAN, data, ledger=ledger)
    assert leaks_of_error(caught.value, data) == []
    assert ledger.spent == 0

"""The check of a source passes every form of records of the package, and finds every fault that is planted in one."""

import sys
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import residualplanner as rp
from forms_of_records import FORMS
from inner_parts import opening
from residualplanner import testing

TYPES = {"text": pa.string(), "number": pa.float64(), "beside": pa.string()}


def table_of(columns):
    return pa.table({name: pa.array(entries, TYPES.get(name, pa.int64())) for name, entries in columns.items()})


@pytest.mark.cases(7)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_records_passes(form, tmp_path):
    testing.check_source(lambda columns: FORMS[form](table_of(columns), tmp_path))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_what_libraries_make_of_lists_passes(make):
    testing.check_source(make, records=20)


def test_records_that_name_no_persons_pass_where_that_is_said():
    def make(columns):
        return pd.DataFrame(columns).drop(columns=["who", "when"], errors="ignore")

    testing.check_source(make, persons=False)
    with pytest.raises(AssertionError, match=r"the records are refused, though they fit the schema: .*'who'"):
        testing.check_source(make)


def in_small(frame, **changes):
    """With entries changed where the schema refuses them, as a reader has it that guesses."""
    return frame.replace(changes) if len(frame) == 3 else frame


FAULTS = {
    r"the counts of 300 records at \[0, 0, 0\]: expected \d+, got \d+; read every": lambda frame: frame[:99],
    r"the counts of \d records at": lambda frame: frame.assign(text="1"),
    r"the counts of 7 records at": lambda frame: frame.loc[frame.index.repeat(1 + (frame.index == 5))],
    r"the counts of \d+ records at ": lambda frame: frame.replace("1 ", "1"),
    r"the counts of 300 records at \[": lambda frame: frame.assign(number=frame.get("number", 0) + 1e-9),
    r"records with 'private 7351' in the column 'text' are counted": partial(in_small, text={"private 7351": "1"}),
    r"records with None in the column 'text' are counted": partial(in_small, text={None: "1"}),
    r"records with 7351 in the column 'code' are counted": lambda frame: frame.assign(code=frame.code.clip(upper=2)),
    r"records with -1 in the column 'code' are counted": lambda frame: frame.assign(code=frame.code.abs()),
    r"records with no column 'code' are counted": lambda frame: frame.assign(code=frame.get("code", 0)),
    r"the counts of the first 2 records of each person at": lambda frame: frame.assign(who=np.arange(len(frame))),
    r"the counts of the first 2 records of each person at \[": lambda frame: frame.assign(when=-frame.get("when", 0)),
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_found_and_named(words):
    with pytest.raises(AssertionError, match=words):
        testing.check_source(lambda columns: FAULTS[words](pd.DataFrame(columns)))


class Cards:
    """A form of records that the package does not know."""

    def __init__(self, columns):
        self.frame = pd.DataFrame(columns)


def test_an_error_that_tells_an_entry_is_found(monkeypatch):
    def source_of(cards, domain, contributions, watch):
        wrong = {*cards.frame.get("text", [])} - {*domain["text"].labels}
        if wrong and domain["text"].unknown == "error":
            raise rp.errors.DataError(f"{wrong.pop()!r} is no value")
        return opening.open_source(cards.frame, domain)

    module = ModuleType("residualplanner.gate.sources.cards")
    module.source_of, module.names_of = source_of, lambda cards: tuple(cards.frame)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(opening._FORMS, (__name__.partition(".")[0], "Cards"), "gate.sources.cards")
    with pytest.raises(AssertionError, match=r"with 'private 7351' .* tells an entry; name the column and the rule"):
        testing.check_source(Cards)

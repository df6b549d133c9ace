"""Marked records stay in: no output but the noisy numbers, no error, no frame and no log holds a mark.

Each run marks five records; every run of the whole way is searched, from the records to the files of the release.
"""

import contextlib
import io
import logging
import random
import warnings
from importlib import import_module

import dask
import dask.dataframe as dd
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from leaks import DIGITS, TEXT, is_marked, leaks_of_error
from random_plans import plan_by_set
from residualplanner import Attribute, Bins, Domain, Ledger, Prefix, marginals, measure, pcost, reconstruct, select
from worlds import FRAMES

#: The module of ``measure``, whose name the function has taken.
GATE = import_module("residualplanner.gate.measurement.measure")
MARKS_PER_RUN = 5

FORMS = (*FRAMES, "codes", "objects", "dask", "ibis", "folder")


def plan_of(rule: str):
    """A plan whose schema declares what becomes of bad values: ``error``, ``drop`` (with bases by set), or a label."""
    rules = {} if rule == "error" else {"unknown": rule, "missing": rule}
    numeric = {} if rule == "error" else {"unknown": "drop", "missing": "drop"}
    domain = Domain(
        {
            "name": Attribute("name", labels=["x", "other"], **rules),
            "code": Attribute("code", size=3, **numeric),
            "amount": Attribute("amount", bins=Bins([0, 10, 1e15]), **numeric),
        }
    )
    if rule == "drop":
        return plan_by_set(marginals(domain, up_to=2, kinds={"code": Prefix(), "amount": Prefix()}), 3)
    return select(marginals(domain, up_to=2), budget=pcost(1))


PLANS = {rule: plan_of(rule) for rule in ("error", "drop", "other")}
#: Each form with each rule, three times.
RUNS = 3 * len(FORMS) * len(PLANS)


def marked(draw: random.Random, rule: str, number: int) -> dict[str, list[object]]:
    """Records some of which hold marks; where bad values are errors, maybe only marks that fit the schema."""
    records = [[draw.choice(["x", "other"]), draw.randrange(3), draw.uniform(0, 20)] for _ in range(12)]
    may_be_bad = rule != "error" or draw.random() < 0.7
    for mark in range(number * MARKS_PER_RUN, (number + 1) * MARKS_PER_RUN):
        column = draw.randrange(3) if may_be_bad else 2
        value = int(f"{DIGITS}{mark:06}")
        bad = [f"{TEXT}-{mark}", draw.choice([value, -value]), -float(value)][column]
        records[draw.randrange(12)][column] = bad if may_be_bad else float(value)
    return dict(zip(("name", "code", "amount"), map(list, zip(*records, strict=True)), strict=True))


def folder_of_parts(table: pa.Table, path):
    """One file for each amount, which stands in the name of its folder."""
    for row, amount in enumerate(table["amount"].to_pylist()):
        (part := path / "records" / f"amount={amount}").mkdir(parents=True, exist_ok=True)
        pq.write_table(table[row : row + 1].drop_columns("amount"), part / f"records{row}.parquet")
    return path / "records"


def contained(form: str, values: dict[str, list[object]], path):
    """The records in one of the forms that people have them in; a mark may also stand in the index."""
    makers = {
        "pandas": lambda: pd.DataFrame(values, index=[f"{TEXT}-{row}" for row in range(12)]),
        "objects": lambda: pd.DataFrame(values, dtype=object),
        "codes": lambda: np.array(
            [[name != "x", code, 0] for name, code, *_ in zip(*values.values(), strict=True)], int
        ),
        "folder": lambda: folder_of_parts(pa.table(values), path),
        "ibis": lambda: ibis.memtable(pa.table(values)),
        "dask": lambda: dd.from_pandas(pd.DataFrame(values, dtype=object), npartitions=3),
    }
    with dask.config.set({"dataframe.convert-string": False}):
        return makers[form]() if form in makers else FRAMES[form](values, path / "records")


def one_run(number: int, folder) -> tuple[bool, list[str]]:
    """Measure, save, reconstruct, save: whether the records were refused, and every place that holds a mark."""
    draw = random.Random(number)
    form, rule = FORMS[number % len(FORMS)], [*PLANS][number // len(FORMS) % len(PLANS)]
    folder.mkdir()
    values = marked(draw, rule, number)
    if form not in ("pandas", "csv", "codes", "objects", "dask"):  # all others hold numbers only as numbers
        values["amount"] = [float(value) for value in values["amount"]]
    data = contained(form, values, folder)
    found: list[str] = []
    log, printed = io.StringIO(), io.StringIO()
    handler, root = logging.StreamHandler(log), logging.getLogger()
    root.addHandler(handler)
    level, refused = root.level, False
    root.setLevel(1)
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        try:
            release(PLANS[rule], data, folder)
        except rp.errors.DataError as error:
            refused = True
            found += leaks_of_error(error, data)
        finally:
            root.setLevel(level)
            root.removeHandler(handler)
    found += [f"{what}: {text[:80]}" for what, text in (("log", log.getvalue()), ("print", printed.getvalue())) if text]
    found += [f"warning: {warning.message}" for warning in warned]
    for file in (file for file in folder.rglob("*") if file.is_file() and not file.stem.startswith("records")):
        if is_marked(str(file.relative_to(folder))) or is_marked(file.read_bytes().decode("latin-1")):
            found.append(f"file: {file.name}")
    return refused, found


def release(plan, data, folder):
    measurement = measure(plan, data, ledger=Ledger.unlimited("made-up records"))
    text = repr(measurement) + repr(measurement.residuals) + repr(measurement.noise)
    (folder / "text").write_text(text)
    measurement.save(folder / "measurement")
    reconstruct(measurement).save(folder / "tables", format="csv")


@pytest.mark.parametrize("part", range(4))
@pytest.mark.cases(1)
def test_no_mark_is_found_in_any_output_of_the_whole_way(part, tmp_path):
    refused = 0
    for number in range(part, RUNS, 4):
        is_refused, found = one_run(number, tmp_path / str(number))
        assert found == [], f"run {number}"
        refused += is_refused
    assert 3 < refused < RUNS // 4 - 3  # both ways out were searched


def test_the_search_finds_a_planted_leak_in_an_output(tmp_path, monkeypatch):
    def telling(data, domain, **rest):
        logging.getLogger("residualplanner").debug("records: %s", repr(data))
        return real(data, domain, **rest)

    real = GATE.open_source
    monkeypatch.setattr(GATE, "open_source", telling)
    assert one_run(0, tmp_path / "run")[1]

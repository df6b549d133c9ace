"""Records that change between two readings give an error, which is the same for all of them, and no answers of two."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from forms_of_records import opened
from inner_parts import basis_groups, blocks, cluster, measuring
from inner_parts import source as source_part

DOMAIN = rp.Domain({"a": 4, "b": 3, "c": rp.Numeric(0, 20, bins=[10]), "d": 5, "e": 5})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.pcost(1))
RECORDS = pd.DataFrame(np.random.default_rng(0).integers(0, (4, 3, 20, 5, 5), (50, 5)), columns=list("abcde"))
FEW = rp.fits.rap.ProjectionSettings(relaxed_records=2, steps=20)
MESSAGE = "the records changed while they were read; measure a copy of them that stays as it is"


def changed(part="a"):
    records = RECORDS.copy()
    records.loc[7, part] = (records.loc[7, part] + 1) % 3
    return records


CHANGES = {
    "appended": lambda: pd.concat([RECORDS, RECORDS[:1]]),
    "removed": lambda: RECORDS[1:],
    "replaced": changed,
    "with another amount": lambda: changed("c"),
}


@pytest.fixture(params=CHANGES)
def change(request):
    return CHANGES[request.param]()


@pytest.fixture
def changing(tmp_path, monkeypatch):
    """A file that is rewritten before it is read again, few cells at a time."""
    return lambda records: change_after_the_first_reading(records, tmp_path / "records.csv", monkeypatch)


def change_after_the_first_reading(records, path, monkeypatch):
    RECORDS.to_csv(path, index=False)
    count, readings = source_part.Source.count, []

    def counted(self, *args, **options):
        readings.append(1)
        if len(readings) == 2:
            records.to_csv(path, index=False)
        return count(self, *args, **options)

    for owner, name, value in ((source_part.Source, "count", counted), (cluster, "PASS_CELLS", 1)):
        monkeypatch.setattr(owner, name, value)
    return path


def in_blocks(path, ledger):
    rp.measure(PLAN, path, memory=blocks.working_bytes(basis_groups(PLAN.strategy)) + 1500, ledger=ledger)


def into_a_store(path, ledger):
    measuring.begun(PLAN, path, path.parent / "store", measuring.Options(ledger, task_cells=8))


def by_rap(path, ledger, memory=100_000):
    pairs = rp.marginals(rp.Domain({"a": 40, "b": 30, "c": 20}), order=3)
    plan = rp.fits.rap.RapPlan(pairs, budget=rp.pcost(1), neighbors="add-remove", rounds=2, choices=2, projection=FEW)
    rp.fits.rap.rap(plan, path, ledger=ledger, memory=memory)


@pytest.mark.parametrize("measured", [in_blocks, into_a_store, by_rap])
def test_records_that_change_after_the_first_reading_give_no_answers(measured, change, changing):
    path, ledger = changing(change), rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.DataError) as caught:
        measured(path, ledger)
    assert str(caught.value).startswith(MESSAGE)
    assert any("The charge stays" in note for note in caught.value.__notes__)


def test_records_that_change_before_the_charge_cost_nothing(change, changing):
    """With much memory adaptive projection checks the records, counts them, and is charged."""
    path, ledger = changing(change), rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.DataError, match=MESSAGE):
        by_rap(path, ledger, memory=2**30)
    assert ledger.entries == ()


@pytest.mark.parametrize("measured", [in_blocks, into_a_store, by_rap])
def test_records_in_another_order_are_the_same(measured, changing):
    path, ledger = changing(RECORDS.sort_values(["b", "c"])), rp.Ledger(rp.pcost(9))
    measured(path, ledger)
    assert path.read_text() != RECORDS.to_csv(index=False)


def test_records_of_an_engine_are_compared_by_their_number(tmp_path):
    """Each reading of an engine's records is its own; tables of one come here."""
    (tmp_path / "parts").mkdir()
    RECORDS.to_parquet(tmp_path / "parts" / "0.parquet")
    source = opened(dd.read_parquet(tmp_path / "parts"), DOMAIN)
    source.count([np.array([[2]])])
    RECORDS[1:].to_parquet(tmp_path / "parts" / "0.parquet")
    with pytest.raises(rp.errors.DataError, match=MESSAGE):
        source.count([np.array([[0, 1]])])

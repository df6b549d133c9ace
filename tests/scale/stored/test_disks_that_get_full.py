"""The disk of a store gets full while answers are drawn: nothing is lost but time, and nothing is charged again."""

from contextlib import ExitStack

import numpy as np
import pytest

import residualplanner as rp
from full_disks import files_of_at_most
from residualplanner.gate.spend import WatchedProgress
from residualplanner.ground.stores import Folder
from residualplanner.scale.stored.measuring import Options, begun
from residualplanner.scale.stored.release import ANSWERS

PLAN = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abcd", 6)), up_to=2), budget=rp.zcdp(1))
RECORDS = np.random.default_rng(0).integers(0, 6, size=(50, 4))


def test_what_was_published_stays_and_the_rest_is_drawn_for_the_same_charge(tmp_path):
    ledger, store = rp.Ledger(rp.zcdp(5)), Folder(tmp_path / "store")
    with ExitStack() as disk:

        def fill(done, total):
            if done == 2:
                disk.enter_context(files_of_at_most(200))

        with pytest.raises(rp.errors.StoreError, match=r"see that .* has room") as caught:
            begun(PLAN, RECORDS, store, Options(ledger, progress=WatchedProgress(fill), task_cells=40))
    assert "resume_measuring(store, records) has the others drawn" in "".join(caught.value.__notes__)
    there = {name: store.read(name) for name in store.names(ANSWERS) if len(store.read(name)) > 200}
    assert len(there) == 2
    spent = ledger.spent
    with pytest.raises(rp.errors.FileFormatError, match="is not complete"):
        rp.scale.load_stored_measurement(store)
    measurement = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert ledger.spent == spent == measurement.noise.pcost
    assert {name: store.read(name) for name in there} == there

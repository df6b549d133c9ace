"""The disk of a store gets full while answers are drawn: nothing is lost but time, and nothing is charged again."""

import resource
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.measurement.shielding import WatchedProgress
from residualplanner.measurement.stored.job import Options, begun
from residualplanner.measurement.stored.object_names import ANSWERS
from residualplanner.stores import Folder

PLAN = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abcd", 6)), up_to=2), budget=rp.zcdp(1))
RECORDS = np.random.default_rng(0).integers(0, 6, size=(50, 4))


@contextmanager
def files_of_at_most(size):
    """Writing more fails, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_published_stays_and_the_rest_is_drawn_for_the_same_charge(tmp_path):
    ledger, store = rp.Ledger(rp.zcdp(5)), Folder(tmp_path / "store")
    with ExitStack() as disk:

        def fill(done, total):
            if done == 2:
                disk.enter_context(files_of_at_most(200))

        outcome = begun(PLAN, RECORDS, store, Options(ledger, progress=WatchedProgress(fill), task_cells=40))
    assert isinstance(outcome, rp.StoreError), outcome
    assert "see that all workers can read and write" in str(outcome)
    assert "resume_measuring(store, records) has the others drawn" in "".join(outcome.__notes__)
    there = {name: store.read(name) for name in store.names(ANSWERS) if len(store.read(name)) > 200}
    assert len(there) == 2
    spent = ledger.spent
    with pytest.raises(rp.FileFormatError, match="is not complete"):
        rp.load_stored_measurement(store)
    measurement = rp.resume_measuring(store, RECORDS, ledger=ledger)
    assert ledger.spent == spent == measurement.noise.pcost
    assert {name: store.read(name) for name in there} == there

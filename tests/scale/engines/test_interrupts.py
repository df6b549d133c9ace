"""Ctrl-C while Dask works is an interrupt, without a traceback, and says what was charged."""

import os
import signal
import threading
import time
from contextlib import nullcontext

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client

import residualplanner as rp

PLAN = rp.select(rp.marginals(rp.Domain({"a": 3}), order=1), budget=rp.pcost(1))


def slowly(part):
    time.sleep(4)
    return part


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_distributed", [False, True])
def test_an_interrupt_is_an_interrupt_and_says_what_was_charged(is_distributed, tmp_path, capfd):
    frame = pd.DataFrame({"a": [0, 1, 2, 2]})
    slow = dd.from_pandas(frame, npartitions=2).map_partitions(slowly, meta=frame)
    client = Client(processes=False, n_workers=1, dashboard_address=None) if is_distributed else nullcontext()
    ledger, timer = rp.Ledger(rp.pcost(1)), threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with client, pytest.raises(KeyboardInterrupt) as found:
        rp.scale.measure_in_store(PLAN, slow, tmp_path / "store", ledger=ledger)
    timer.cancel()
    told = getattr(found.value, "__notes__", [])
    assert (len(ledger.entries) == 1) == any("The charge stays" in note for note in told)
    assert "Traceback" not in capfd.readouterr().err

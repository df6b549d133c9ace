"""A script without a guard, which its own workers run again, is refused there, and spends and writes nothing twice."""

import multiprocessing
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.scale import workers as engines

SCRIPT = """
import numpy as np
import residualplanner as rp

plan = rp.select(rp.marginals(rp.Domain({"a": 20, "b": 20, "c": 20}), order=3), budget=rp.zcdp(1))
measurement = rp.measure(plan, np.zeros((9, 3), dtype=int), ledger=rp.Ledger.open("l"))
rp.reconstruct(measurement).save("out", format="parts", workers=2)
"""


PLAN = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3}), up_to=2), budget=rp.zcdp(1))
CODES = np.zeros((9, 2), dtype=int)
MEASUREMENT = rp.measure(PLAN, CODES)


@pytest.mark.slow
def test_a_script_without_a_guard_spends_once_and_is_told_what_to_do(tmp_path):
    ledger = rp.Ledger.create(tmp_path / "l", budget=rp.zcdp(9), data_set="d")
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "measure was reached in a process that this script has started, which imports the script anew" in done.stderr
    assert "ResourceError" in done.stderr
    assert done.stderr.rstrip().endswith('and call it under  if __name__ == "__main__":')
    assert len(ledger.entries) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("measure", lambda ledger, _: rp.measure(PLAN, CODES, ledger=ledger)),
        ("measure_in_store", lambda ledger, path: rp.scale.measure_in_store(PLAN, CODES, path, ledger=ledger)),
        ("resume_measuring", lambda ledger, path: rp.scale.resume_measuring(path, CODES, ledger=ledger)),
        (
            "rap",
            lambda ledger, _: rp.fits.rap.rap(
                rp.fits.rap.RapPlan(PLAN.workload, budget=rp.zcdp(1), neighbors="replace", rounds=1),
                CODES,
                ledger=ledger,
            ),
        ),
        ("save", lambda _, path: rp.reconstruct(MEASUREMENT).save(path, format="parts")),
    ],
)
def test_a_process_that_imports_its_parents_script_neither_measures_nor_saves(monkeypatch, tmp_path, name, call):
    ledger = rp.Ledger(rp.zcdp(9))
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(rp.errors.ArgumentError, match=f"^{name} was reached in a process .* if __name__ == "):
        call(ledger, tmp_path / "new")
    assert not ledger.entries
    assert not list(tmp_path.iterdir())


class Pool:
    """A pool of processes of which one is killed at work."""

    def __init__(self, *_arguments):
        pass

    def map(self, *_arguments):
        yield b"first"
        raise BrokenProcessPool

    def shutdown(self, **_options):
        pass


class LimitedPool(Pool):
    """A pool for which the system starts no thread."""

    def map(self, *_arguments):
        raise RuntimeError("can't start new thread")

    def shutdown(self, **_options):
        raise RuntimeError("cannot join thread before it is started")


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (Pool, "killed, as where memory runs out; or this script has no guard"),
        (LimitedPool, r"could not be started: can't start new thread; .* \(ulimit -u\)"),
    ],
)
def test_workers_that_die_or_are_not_started_are_told_with_the_reasons(monkeypatch, pool, words):
    monkeypatch.setattr(engines.workers, "ProcessPoolExecutor", pool)
    with pytest.raises(rp.errors.ResourceError, match=words):
        list(engines.ProcessWorkers(2).map(bytes, [1, 2]))

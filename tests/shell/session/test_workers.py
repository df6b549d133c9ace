"""Releases that are measured in workers of `multiprocessing`, in whatever way these are started."""

import multiprocessing
import os
from fractions import Fraction

import pytest

import residualplanner as rp
from worker_releases import DOMAIN, released

RELEASES = 4


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_workers_charge_one_ledger_and_share_no_noise_with_one_another_or_who_started_them(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    ledger, folders = str(tmp_path / "ledger"), [str(tmp_path / str(number)) for number in range(RELEASES + 1)]
    begun = rp.Ledger.create(ledger, budget=rp.pcost("1/8"), data_set="d")
    here, noise = released(ledger, folders[0])  # all that is kept for later is there when processes are forked
    with multiprocessing.get_context(method).Pool(2, maxtasksperchild=RELEASES // 2) as pool:
        found = pool.starmap(released, [(ledger, folder) for folder in folders[1:]], chunksize=1)
    assert here == os.getpid()
    assert here not in {process for process, _ in found}
    assert len({tuple(noise), *(tuple(answers) for _, answers in found)}) == RELEASES + 1
    assert len(begun.entries) == RELEASES + 1
    assert begun.spent <= Fraction(RELEASES + 1, 64)
    for folder in folders:
        assert rp.load_tables(folder)["a", "b"].estimate.shape == tuple(DOMAIN.sizes)

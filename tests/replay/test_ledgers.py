"""What a ledger says depends on the plan, never on the records: nor on whether they can be read, if it comes first."""

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Domain, Ledger, marginals, measure, select, zcdp
from watching import Seen, watched

PLAN = select(marginals(Domain({"a": 3, "b": 4}), up_to=2), budget=zcdp("0.5"))
#: No records, some, and some that cannot be read.
RECORDS = [np.empty((0, 2), dtype=int), np.array([[0, 1], [2, 3]]), np.array([[0, 1], [2, 7]])]


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("charge", ["first", "counted"])
def test_a_ledger_is_charged_the_same_whatever_the_records_if_the_charge_comes_first_or_they_can_be_counted(
    in_file, charge, tmp_path
):
    spent, files, bad = [], [], 0
    for number, records in enumerate(RECORDS):
        path = tmp_path / f"{number}.ledger"
        ledger = Ledger.create(path, budget=zcdp(3), data_set="people") if in_file else Ledger(zcdp(3))
        with watched(Seen(), trace=False):
            try:
                measure(PLAN, records, ledger=ledger, charge=charge)
            except rp.errors.DataError:
                bad += 1
        spent.append(ledger.spent)
        files.append(path.read_bytes() if in_file else b"")
    assert bad == 1
    counted = slice(None) if charge == "first" else slice(2)
    assert len(set(spent[counted])) == len(set(files[counted])) == 1
    assert (spent[0] > 0, spent[2] > 0) == (True, charge == "first")

"""A ledger under any sequence of operations, by several handles, never exceeds its budget."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import residualplanner as rp
from residualplanner import Ledger, pcost

HASH = "0" * 64
BUDGET = Fraction(1)
costs = st.one_of(
    st.sampled_from([Fraction(1, n) for n in (2, 3, 4, 7, 50)]),
    st.fractions(min_value=Fraction(1, 10**30), max_value=Fraction(6, 5), max_denominator=10**30),
)


class LedgerMachine(RuleBasedStateMachine):
    """A file, two who have it open, and a list of what must be in it."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger"
        self.handles = [Ledger.create(self.path, budget=pcost(BUDGET), data_set="d"), Ledger.open(self.path)]
        self.twin = Ledger(pcost(BUDGET), data_set="d")
        self.charged, self.is_torn = [], False

    def teardown(self):
        self.folder.cleanup()

    @rule(who=st.sampled_from([0, 1]), cost=costs)
    def charge(self, who, cost):
        before = self.path.read_bytes()
        try:
            entry = self.handles[who].charge(cost, HASH, neighbors="add-remove", label=f"by {who}")
        except rp.errors.FileFormatError:
            assert self.is_torn
            assert self.path.read_bytes() == before
        except rp.errors.BudgetError:
            assert not self.is_torn
            assert sum(self.charged) + cost > BUDGET
            assert self.path.read_bytes() == before
        else:
            assert not self.is_torn
            assert self.path.read_bytes().startswith(before)
            self.charged.append(cost)
            assert sum(self.charged) <= BUDGET
            assert entry.sequence == len(self.charged)
            self.twin.charge(cost, HASH, neighbors="add-remove")

    @rule(who=st.sampled_from([0, 1]), cost=costs)
    def charge_for_other_neighbors(self, who, cost):
        before = self.path.read_bytes()
        with pytest.raises(rp.errors.BudgetError, match="do not add up"):
            self.handles[who].charge(cost, HASH, neighbors="replace")
        assert self.path.read_bytes() == before

    @precondition(lambda self: not self.is_torn)
    @rule(piece=st.sampled_from([b"{", b'{"cost":"1/2', b"\0\0", b'{"cost":"1/3","label":"","plan_sha256":"']))
    def tear(self, piece):
        with open(self.path, "ab") as file:
            file.write(piece)
        self.is_torn = True

    @rule(who=st.sampled_from([0, 1]), cost=costs)
    def settle(self, who, cost):
        try:
            self.handles[who].settle(cost)
        except rp.errors.BudgetError:
            assert not self.is_torn or sum(self.charged) + cost > BUDGET
        else:
            assert self.is_torn
            self.charged.append(cost)
            self.twin.charge(cost, HASH, neighbors="add-remove")
            self.is_torn = False

    @rule(who=st.sampled_from([0, 1]))
    def open_again(self, who):
        self.handles[who] = Ledger.open(self.path)

    @invariant()
    def all_agree(self):
        for ledger in self.handles:
            assert [entry.cost for entry in ledger.entries] == self.charged
            balance = ledger.balance
            assert balance.spent == self.twin.spent == sum(self.charged) <= BUDGET
            assert balance.remaining == BUDGET - sum(self.charged) >= 0
            assert ledger.is_torn == self.is_torn


@pytest.mark.usefixtures("quick_disk")
class TestLedgerMachine(LedgerMachine.TestCase):
    settings = settings(stateful_step_count=30, max_examples=15)

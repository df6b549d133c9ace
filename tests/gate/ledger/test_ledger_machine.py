"""A ledger under any sequence of operations, by several handles and several processes, never exceeds its budget."""

import subprocess
import sys
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


WORKER = """
import sys, time
from fractions import Fraction
from residualplanner import Ledger, errors
from residualplanner.gate.ledger import file as ledger_file

if sys.argv[1] == "unlocked":
    import fcntl
    fcntl.flock = lambda *_: None
    read = ledger_file._content
    ledger_file._content = lambda handle: (read(handle), time.sleep(0.05))[0]
print("ready", flush=True)
for line in sys.stdin:
    done = 0
    try:
        ledger = Ledger.open(line.strip())
        for _ in range(3):
            ledger.charge(Fraction(1, 24), "0" * 64, neighbors="add-remove")
            done += 1
    except errors.BudgetError:
        pass
    except ValueError as error:
        assert sys.argv[1] == "unlocked", error
    print(done, flush=True)
"""


@pytest.fixture
def racers(request):
    """Processes that charge the ledger whose path they are told three times each, all at once."""
    kind, count = request.param
    command = [sys.executable, "-c", WORKER, kind]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(count)]

    def race(path):
        for process in processes:
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
        return [int(process.stdout.readline()) for process in processes]

    assert [process.stdout.readline() for process in processes] == ["ready\n"] * count
    yield race
    for process in processes:
        process.stdin.close()
        process.stdout.close()
        process.wait()


def ledger_with(path, units):
    """A ledger in which so many of 24 units are left."""
    ledger = Ledger.create(path, budget=pcost(1), data_set="d")
    if units < 24:
        ledger.charge(Fraction(24 - units, 24), HASH, neighbors="add-remove")
    return ledger


@pytest.mark.slow
@pytest.mark.parametrize("racers", [("locked", 6)], indirect=True)
def test_of_processes_that_race_for_the_last_unit_one_gets_it(tmp_path, racers):
    winners = set()
    for number in range(12):
        units = [1, 1, 1, 5][number % 4]
        ledger = ledger_with(tmp_path / str(number), units)
        done = racers(tmp_path / str(number))
        assert sum(done) == units
        assert (ledger.remaining, len(ledger.entries)) == (0, units + 1)
        winners.update(place for place, count in enumerate(done) if count)
    assert len(winners) > 1, "there was no race: the test has shown nothing"


@pytest.mark.slow
@pytest.mark.parametrize("racers", [("unlocked", 3)], indirect=True)
def test_without_the_lock_the_race_would_be_lost(tmp_path, racers):
    ledger_with(tmp_path / "ledger", 1)
    assert sum(racers(tmp_path / "ledger")) > 1

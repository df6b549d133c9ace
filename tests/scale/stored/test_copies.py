"""A store that was copied draws its noise once: of it and its copies one goes on, by the ledger's lines of stages."""

import shutil
from fractions import Fraction

import pytest

import residualplanner as rp
from inner_parts import Folder, LedgerStage
from stored_releases import PLAN, RECORDS, stopped

COPY = "this store is a copy: the ledger has {} of its release from another one"


def begin(store, ledger, tasks):
    """Begin a release of which so many tasks have answers when the run and its workers are killed."""
    stopped(Folder(store), ledger=ledger)
    for path in sorted((store / "answers").iterdir())[tasks:]:
        path.unlink()


def answers(store):
    return {path.name: path.read_bytes() for path in (store / "answers").glob("*") if path.stat().st_size > 100}


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    if request.param == "memory":
        return rp.Ledger(rp.zcdp(1))
    return rp.Ledger.create(tmp_path / "l", budget=rp.zcdp(1), data_set="d")


@pytest.mark.parametrize("first", ["store", "copy"])
@pytest.mark.parametrize("tasks", [0, 1])
def test_of_a_store_and_its_snapshot_the_second_to_resume_is_refused(ledger, tmp_path, tasks, first):
    begin(tmp_path / "store", ledger, tasks)
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    second = "copy" if first == "store" else "store"
    measured = rp.scale.resume_measuring(tmp_path / first, RECORDS, ledger=ledger)
    before = answers(tmp_path / second)
    (tmp_path / first / "manifest.json").unlink()  # as if the run had been killed just before it was written
    for _ in range(2):  # it is not forgotten
        with pytest.raises(rp.errors.BudgetError, match=COPY.format("(generation 1|answers)")):
            rp.scale.resume_measuring(tmp_path / second, RECORDS, ledger=ledger)
        assert answers(tmp_path / second) == before
        with pytest.raises(rp.errors.FileFormatError, match="is not complete"):
            rp.scale.load_stored_measurement(tmp_path / second)
    again = rp.scale.resume_measuring(tmp_path / first, RECORDS, ledger=ledger)
    assert again.answers_sha256 == measured.answers_sha256
    assert ledger.spent == measured.noise.pcost


def test_another_release_of_the_same_plan_is_no_copy(tmp_path):
    ledger = rp.Ledger(rp.zcdp(2))
    for number in range(2):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / str(number), ledger=ledger, again=True)
    assert len(ledger.entries) == 2


def test_a_ledger_that_cannot_be_written_lets_nothing_be_drawn(tmp_path):
    ledger = rp.Ledger.create(tmp_path / "l", budget=rp.zcdp(1), data_set="d")
    begin(tmp_path / "store", ledger, 0)
    before = answers(tmp_path / "store")
    (tmp_path / "l").rename(tmp_path / "elsewhere")
    with pytest.raises((FileNotFoundError, rp.errors.StoreError)):
        rp.scale.resume_measuring(tmp_path / "store", RECORDS, ledger=ledger)
    assert answers(tmp_path / "store") == before


# The lines of stages.


@pytest.fixture
def file(tmp_path):
    """The ledger in a file, and its first line: a stage."""
    ledger = rp.Ledger.create(tmp_path / "l", budget=rp.pcost(1), data_set="d")
    stage(ledger)
    return tmp_path / "l"


def stage(ledger, name="generation 0", digest="ab" * 32):
    known = {f"generation {number}": "ab" * 32 for number in range(3)} | {name: digest}
    return ledger.record_stage("0" * 32, name, digest, known=known)


def test_stages_cost_nothing_and_are_read_back(file):
    ledger = rp.Ledger.open(file)
    ledger.charge(Fraction(1, 2), "1" * 64, neighbors="add-remove")
    stage(ledger, "answers")
    again = rp.Ledger.open(file)
    assert again.spent == Fraction(1, 2)
    assert [entry.sequence for entry in again.entries] == [1]
    assert again.last_sha256 == ledger.last_sha256
    with pytest.raises(rp.errors.BudgetError, match=COPY.format("generation 0")):
        again.record_stage("0" * 32, "generation 1", "cd" * 32, known={"generation 1": "cd" * 32})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"stage":"generation 0"', '"stage":"generation 1"', "line 2 was edited"),
        ('"stage":"generation 0"', '"stage":"nothing"', "line 2: a stage of a release has"),
        ('"digest":"abab', '"digest":"ABAB', "line 2: a stage of a release has"),
        ('"release":"0', '"release":"', "line 2: a stage of a release has"),
        ('"release":', '"more":1,"release":', "line 2 does not have the fields"),
        (None, None, "line 2 was edited, or one before it was"),
    ],
)
def test_a_stage_that_was_edited_or_removed_is_noticed(file, old, new, message):
    rp.Ledger.open(file).charge(Fraction(1, 2), "1" * 64, neighbors="add-remove")
    head, line, rest = file.read_text().splitlines(keepends=True)
    assert old is None or old in line
    file.write_text(head + ("" if old is None else line.replace(old, new)) + rest)
    with pytest.raises(rp.errors.FileFormatError, match=message):
        rp.Ledger.open(file)


@pytest.mark.parametrize("bytes_left", [10, 40, 200])
def test_a_stage_that_was_torn_counts_for_nothing_and_needs_no_settlement(file, bytes_left):
    whole = len(file.read_bytes().splitlines(keepends=True)[0])
    with open(file, "r+b") as torn:
        torn.truncate(whole + bytes_left)
    again = rp.Ledger.open(file)
    assert not again.is_torn
    again.charge(1, "1" * 64, neighbors="add-remove")
    stage(again)
    assert rp.Ledger.open(file).spent == 1


@pytest.mark.parametrize("given", [("0", "answers", "ab" * 32), ("0" * 32, "end", "ab" * 32), ("0" * 32, "answers", 3)])
def test_what_is_no_stage_is_refused(given):
    with pytest.raises(rp.errors.BudgetError, match="a stage of a release has its identifier"):
        LedgerStage(*given)

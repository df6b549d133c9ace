"""Files and folders appear whole or not at all, whatever raises or fails.

That what kills the process changes nothing of it is tested with whole sessions and commands, in `tests/shell`.
"""

import os

import pytest

import residualplanner as rp
from residualplanner.ground.atomic import write_atomically, write_folder_atomically

PLAN = rp.select(rp.marginals(rp.Domain({"a": 3}), order=1), budget=rp.zcdp(1))


@pytest.fixture
def path(tmp_path):
    PLAN.save(tmp_path / "file.plan")
    return tmp_path / "file.plan"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("exists", [True, False])
def test_a_block_that_raises_leaves_what_was_there(tmp_path, failure, exists):
    if exists:
        (tmp_path / "out").write_text("old")

    def half_a_file():
        with write_atomically(tmp_path / "out") as file:
            file.write(b"new")
            raise failure

    def half_a_folder():
        with write_folder_atomically(tmp_path / "folder") as folder:
            (folder / "part").write_text("new")
            raise failure

    with pytest.raises(failure):
        half_a_file()
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"] * exists
    with pytest.raises(failure):
        half_a_folder()
    assert [p.name for p in tmp_path.iterdir()] == ["out"] * exists


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_system_call_leaves_the_old_file_and_nothing_else(path, monkeypatch, call):
    before = path.read_bytes()

    def fail(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left"):
        PLAN.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_new_file_replaces_an_old_one_and_leftovers_of_a_killed_process_do_not_hinder_it(tmp_path):
    (tmp_path / ".out.0a1b2c3d.partial").write_text("half")
    for text in (b"one", b"two"):
        with write_atomically(tmp_path / "out") as file:
            file.write(text)
    assert (tmp_path / "out").read_bytes() == b"two"


def test_targets_that_cannot_be_are_refused_before_any_work(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    worked = []

    def attempt(context):
        with context:
            worked.append(context)

    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        attempt(write_atomically(tmp_path / "full"))
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        attempt(write_atomically(tmp_path / "none" / "out"))
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        attempt(write_folder_atomically(tmp_path / "none" / "out"))
    with pytest.raises(FileExistsError, match="is not empty; name a new folder"):
        attempt(write_folder_atomically(tmp_path / "full"))
    with pytest.raises(FileExistsError, match="is a file; name a new folder"):
        attempt(write_folder_atomically(tmp_path / "full" / "file"))
    assert not worked
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_a_folder_may_take_the_place_of_an_empty_one(tmp_path):
    (tmp_path / "out").mkdir()
    with write_folder_atomically(tmp_path / "out") as folder:
        assert folder.parent == tmp_path
        (folder / "part").write_text("new")
    assert (tmp_path / "out" / "part").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_was_filled_meanwhile_is_kept(tmp_path):
    def fill():
        with write_folder_atomically(tmp_path / "out") as folder:
            (folder / "part").write_text("new")
            (tmp_path / "out").mkdir()
            (tmp_path / "out" / "theirs").write_text("kept")

    with pytest.raises(OSError, match="not empty"):
        fill()
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(tmp_path / "out") == ["theirs"]

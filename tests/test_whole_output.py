"""Files and folders appear whole or not at all, whatever raises, fails or kills the process."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from residualplanner.ground.archive import read_archive, write_archive
from residualplanner.ground.atomic import write_atomically, write_folder_atomically

KIND = {"kind": "plan", "version": 3}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "file.rp"
    write_archive(target, **KIND, header={}, arrays={"a": np.arange(3.0)})
    return target


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
        write_archive(path, **KIND, header={}, arrays={})
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path):
    before = path.read_bytes()
    script = (
        "import resource, signal, sys, numpy as np\n"
        "from residualplanner.ground.archive import write_archive\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "write_archive(sys.argv[1], kind='plan', version=3, header={}, arrays={'a': np.zeros(10**6)})\n"
    )
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "File too large" in result.stderr
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


KILLED = """
import sys, pathlib, numpy as np
from residualplanner.ground.archive import write_archive
from residualplanner.ground.atomic import write_folder_atomically
base = pathlib.Path(sys.argv[1])
print("ready", flush=True)
for turn in range(10**6):
    write_archive(base / "file", kind="plan", version=3, header={"turn": turn}, arrays={"a": np.full(200_000, turn)})
    with write_folder_atomically(base / f"folder{turn}") as folder:
        for part in range(20):
            (folder / f"part{part}").write_bytes(bytes(1000))
"""


@pytest.mark.slow
def test_a_killed_process_leaves_complete_output_or_none(tmp_path):
    chance = random.Random(2)
    leftovers = 0
    for run in range(6):
        base = tmp_path / str(run)
        base.mkdir()
        with subprocess.Popen([sys.executable, "-c", KILLED, str(base)], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(chance.uniform(0.001, 0.05))
            process.send_signal(signal.SIGKILL)
        for found in base.iterdir():
            if found.name.startswith("."):
                assert found.name.endswith(".partial")
                leftovers += 1
            elif found.name == "file":
                header, arrays = read_archive(found, **KIND)
                assert (arrays["a"] == header["turn"]).all()
            else:
                assert len(list(found.iterdir())) == 20
    assert leftovers, "no kill fell into a write: the test has shown nothing"

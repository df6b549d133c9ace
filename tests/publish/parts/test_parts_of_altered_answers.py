"""Parts are made of the answers that were loaded: where their file is altered meanwhile, there is no release."""

import multiprocessing
import os

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.ground import array_hashes as _array_hashes
from residualplanner.release import layout
from residualplanner.scale.workers import ProcessWorkers

PLAN = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abc", 40)), up_to=2), budget=rp.pcost(1))


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Of three parts, whose file is mapped, and was written long ago."""
    monkeypatch.setattr(layout, "PART_CELLS", 1600)
    monkeypatch.setattr(layout, "ROW_GROUP_CELLS", 1600)
    monkeypatch.setattr(_array_hashes, "_TIME_STEP", -(10**15))
    rp.measure(PLAN, np.zeros((10, 3), dtype=int)).save(tmp_path / "some.measurement")
    release = rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement", mapped=True))
    assert len(release.layout) == 3
    return release


def alter(path):
    """Change the middle of the answers, in place."""
    with open(path, "r+b") as file:
        file.seek(os.stat(path).st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


class Altering:
    """Workers in this process, in front of which the file is altered, or replaced by that of another measurement."""

    def __init__(self, path, change):
        self.path, self.change = path, change

    def require_ready(self):
        pass

    def map(self, function, numbers):
        self.change(self.path)
        return [function(number) for number in numbers]


def replace_by_another(path):
    rp.measure(PLAN, np.zeros((10, 3), dtype=int)).save(path)


def test_one_process_refuses_in_the_end_and_leaves_no_part(release, tmp_path):
    path = tmp_path / "some.measurement"

    def progress(done, total):
        if done == total:
            alter(path)

    with pytest.raises(rp.errors.FileFormatError, match=r"some\.measurement was altered while it was in use"):
        release.save(tmp_path / "out", "parts", progress=progress)
    assert os.listdir(tmp_path) == ["some.measurement"]


def test_what_was_altered_before_is_refused_before_anything_is_written(release, tmp_path):
    alter(tmp_path / "some.measurement")
    with pytest.raises(rp.errors.FileFormatError, match="was altered while it was in use"):
        release.save(tmp_path / "out", "parts")
    assert os.listdir(tmp_path) == ["some.measurement"]


@pytest.mark.parametrize(
    ("change", "words"), [(alter, "'integers' was altered"), (replace_by_another, "other answers")]
)
def test_workers_refuse_and_leave_no_part(release, tmp_path, change, words):
    workers = Altering(tmp_path / "some.measurement", change)
    with pytest.raises(rp.errors.FileFormatError, match=words):
        release.save(tmp_path / "out", "parts", workers=workers)
    assert os.listdir(tmp_path) == ["some.measurement"]


def test_the_answers_that_were_loaded_are_written_when_their_file_has_been_replaced(release, tmp_path):
    release.save(tmp_path / "before", "parts")
    replace_by_another(tmp_path / "some.measurement")
    release.save(tmp_path / "after", "parts")
    for path in (tmp_path / "before" / "parts").iterdir():
        assert path.read_bytes() == (tmp_path / "after" / "parts" / path.name).read_bytes()


def test_processes_give_results_in_order_and_end_when_they_are_not_wanted_any_more():
    workers = ProcessWorkers(1)
    workers.require_ready()
    workers.require_single_attempts()
    results = workers.map(bytes, range(50))
    assert [next(results), next(results), next(results)] == [b"", b"\0", b"\0\0"]
    results.close()
    assert multiprocessing.active_children() == []
    assert list(results) == []

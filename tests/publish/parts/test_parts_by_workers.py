"""Parts that an engine's workers write are those that this process writes, and all are of the answers that were loaded.

Spark's are tested where a session is.
"""

import os

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.ground import array_hashes
from small_pieces import contents, hidden_of, small_parts, times_of


class Noted:
    """Workers in this process that note what they are asked, and do something before they work."""

    def __init__(self, before=lambda numbers: numbers):
        self.asked, self.before = [], before

    def require_ready(self):
        self.asked.append("ready")

    def require_single_attempts(self):
        raise AssertionError("writing parts twice does no harm")

    def map(self, function, numbers):
        self.asked.append(list(numbers))
        return [function(number) for number in self.before(numbers)]


def test_only_what_is_missing_is_written_again(mapped, tmp_path):
    workers = Noted()
    mapped.save(tmp_path / "one", "parts", workers=workers)
    assert workers.asked == ["ready", [*range(len(list((tmp_path / "one/parts").iterdir())))]]

    def fail_after_two(numbers):
        yield from numbers[:2]
        raise rp.errors.ResourceError("the engine failed")

    with pytest.raises(rp.errors.ResourceError, match="the engine failed"):
        mapped.save(tmp_path / "two", "parts", workers=Noted(fail_after_two))
    times = times_of(hidden_of(tmp_path / "two"))
    assert len(times) == 2
    mapped.save(tmp_path / "two", "parts", workers=Noted())
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    after = times_of(tmp_path / "two")
    assert {name: after[name] for name in times} == times


def test_workers_that_do_not_see_the_measurement_say_so(mapped, tmp_path):
    def move_away(numbers):
        (tmp_path / "some.measurement").unlink()
        return numbers

    with pytest.raises(OSError, match=r"could not write a part \(No such file or directory: .*some\.measurement\)"):
        mapped.save(tmp_path / "out", "parts", workers=Noted(move_away))
    assert not (tmp_path / "out").exists()


# Where the file of the answers is altered meanwhile, there is no release.

PLAN = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abc", 40)), up_to=2), budget=rp.pcost(1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.measurement"


@pytest.fixture
def release(path, monkeypatch):
    """Of three parts, whose file is mapped, and was written long ago."""
    monkeypatch.setattr(array_hashes, "TIME_STEP", -(10**15))
    rp.measure(PLAN, np.zeros((10, 3), dtype=int)).save(path)
    with small_parts(1600, 1600):
        release = rp.reconstruct(rp.load_measurement(path, mapped=True))
        assert len(release.layout) == 3
        yield release


def alter(path):
    """Change the middle of the answers, in place."""
    with open(path, "r+b") as file:
        file.seek(os.stat(path).st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))


def replace_by_another(path):
    rp.measure(PLAN, np.zeros((10, 3), dtype=int)).save(path)


@pytest.mark.parametrize(
    ("change", "words"), [(alter, "'integers' was altered"), (replace_by_another, "other answers")]
)
def test_workers_refuse_and_leave_no_part(release, path, tmp_path, change, words):
    def before(numbers):
        change(path)
        return numbers

    with pytest.raises(rp.errors.FileFormatError, match=words):
        release.save(tmp_path / "out", "parts", workers=Noted(before))
    assert os.listdir(tmp_path) == ["some.measurement"]


def test_the_answers_that_were_loaded_are_written_when_their_file_has_been_replaced(release, path, tmp_path):
    release.save(tmp_path / "before", "parts")
    replace_by_another(path)
    release.save(tmp_path / "after", "parts")
    for part in (tmp_path / "before" / "parts").iterdir():
        assert part.read_bytes() == (tmp_path / "after" / "parts" / part.name).read_bytes()

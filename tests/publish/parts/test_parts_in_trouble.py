"""Releases in parts whose disks get full, whose runs are killed, or whose parts are altered before all are there."""

import os
import shutil
from contextlib import ExitStack

import pytest

from full_disks import files_of_at_most
from small_pieces import contents, hidden_of, interrupted, times_of


@pytest.fixture
def release(mapped, tmp_path):
    mapped.save(tmp_path / "whole", "parts")
    return mapped


def require_finished(release, tmp_path, times, **options):
    """The release is finished as without trouble, and parts that were there are not written again."""
    release.save(tmp_path / "out", "parts", **options)
    after = times_of(tmp_path / "out")
    assert {name: after[name] for name in times} == times
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["out", "some.measurement", "whole"]


@pytest.mark.parametrize("place", [10, 200, -200, -30, -1, None])
def test_a_finished_part_that_was_altered_is_written_again(release, tmp_path, place):
    times = interrupted(release, tmp_path / "out")
    part = hidden_of(tmp_path / "out") / "parts/part-000001.parquet"
    altered = bytearray(b"PAR1 nothing PAR1" if place is None else part.read_bytes())
    altered[place or 0] ^= 1
    part.write_bytes(altered)
    kept = times.pop(part.name)
    require_finished(release, tmp_path, times)
    assert times_of(tmp_path / "out")[part.name] != kept


@pytest.mark.parametrize("damage", [b"", b"[]", b"\0\0\0", None])
def test_a_finished_part_of_which_nothing_is_stated_is_written_again(release, tmp_path, damage):
    interrupted(release, tmp_path / "out")
    statement = hidden_of(tmp_path / "out") / "hashes/part-000001.json"
    statement.unlink() if damage is None else statement.write_bytes(damage)
    require_finished(release, tmp_path, {})


@pytest.mark.parametrize(("module", "call"), [(os, "rename"), (shutil, "rmtree")])
def test_a_run_that_is_killed_while_the_release_gets_its_name_or_after_leaves_all_parts(
    release, tmp_path, monkeypatch, module, call
):
    usual, times, target = getattr(module, call), {}, tmp_path / "out"

    def die(source, *to):
        if call == "rmtree" or str(*to) == str(target):
            times.update({} if call == "rmtree" else times_of(source))
            raise KeyboardInterrupt
        usual(source, *to)

    with monkeypatch.context() as patch:
        patch.setattr(module, call, die)
        with pytest.raises(KeyboardInterrupt):
            release.save(target, "parts")
    if target.exists():
        assert contents(target) == contents(tmp_path / "whole")
        shutil.rmtree(target)
    require_finished(release, tmp_path, times)


def test_a_disk_that_gets_full_leaves_the_finished_parts_and_no_release(release, tmp_path):
    with ExitStack() as disk:

        def fill(done, total):
            if len(times_of(hidden_of(tmp_path / "out"))) == 3:
                disk.enter_context(files_of_at_most(1000))

        with pytest.raises(OSError, match="File too large") as caught:
            release.save(tmp_path / "out", "parts", progress=fill)
    assert "goes on from there" in caught.value.__notes__[0]
    assert not (tmp_path / "out").exists()
    times = times_of(hidden_of(tmp_path / "out"))
    assert len(times) == len(os.listdir(hidden_of(tmp_path / "out") / "parts")) == 3
    require_finished(release, tmp_path, times)

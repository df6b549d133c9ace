"""Releases in parts whose disks get full, whose runs are killed, or whose parts are altered before all are there."""

import os
import shutil
from contextlib import ExitStack

import dask
import numpy as np
import pytest

import residualplanner as rp
from full_disks import files_of_at_most
from residualplanner.release import layout


@pytest.fixture
def release(tmp_path, monkeypatch):
    """Of six parts, whose file is mapped."""
    monkeypatch.setattr(layout, "PART_CELLS", 64)
    monkeypatch.setattr(layout, "ROW_GROUP_CELLS", 16)
    plan = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abcd", 5)), up_to=2), budget=rp.pcost(1))
    rp.measure(plan, np.zeros((10, 4), dtype=int)).save(tmp_path / "some.measurement")
    found = rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement", mapped=True))
    found.save(tmp_path / "whole", "parts")
    return found


class StoppedError(Exception):
    """A run ends here."""


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interrupted(release, target, **options):
    """Write three parts or more; when each was written."""

    def stop(done, total):
        if len(times_of(hidden_of(target))) >= 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        release.save(target, "parts", progress=stop, **options)
    return times_of(hidden_of(target))


def hidden_of(target):
    return next(target.parent.glob(f".{target.name}.*.unfinished"))


def times_of(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "parts").glob("*.parquet")}


@pytest.mark.parametrize("place", [10, 200, -200, -30, -1])
def test_a_finished_part_that_was_altered_by_a_bit_is_written_again(release, tmp_path, place):
    times = interrupted(release, tmp_path / "out")
    part = hidden_of(tmp_path / "out") / "parts/part-000001.parquet"
    altered = bytearray(part.read_bytes())
    altered[place] ^= 1
    part.write_bytes(altered)
    release.save(tmp_path / "out", "parts")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    after = times_of(tmp_path / "out")
    assert [name for name, time in times.items() if after[name] != time] == [part.name]


@pytest.mark.parametrize("damage", [b"", b"[]", b"\0\0\0", None])
def test_a_finished_part_of_which_nothing_is_stated_is_written_again(release, tmp_path, damage):
    interrupted(release, tmp_path / "out")
    statement = hidden_of(tmp_path / "out") / "hashes/part-000001.json"
    statement.unlink() if damage is None else statement.write_bytes(damage)
    release.save(tmp_path / "out", "parts")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_run_that_is_killed_while_it_gives_the_release_its_name_leaves_all_parts(release, tmp_path, monkeypatch):
    renamed, times = os.rename, {}

    def die(source, target):
        if str(target) == str(tmp_path / "out"):
            times.update(times_of(source))
            raise StoppedError
        renamed(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", die)
        with pytest.raises(StoppedError):
            release.save(tmp_path / "out", "parts")
    release.save(tmp_path / "out", "parts")
    assert times_of(tmp_path / "out") == times
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["out", "some.measurement", "whole"]


def test_a_run_that_is_killed_after_the_release_has_its_name_does_not_disturb_the_next(release, tmp_path, monkeypatch):
    def die(*_, **__):
        raise StoppedError

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(StoppedError):
            release.save(tmp_path / "out", "parts")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    shutil.rmtree(tmp_path / "out")
    release.save(tmp_path / "out", "parts")
    assert sorted(os.listdir(tmp_path)) == ["out", "some.measurement", "whole"]


@pytest.mark.parametrize("is_alone_first", [True, False])
def test_a_run_goes_on_with_another_number_of_workers(release, tmp_path, is_alone_first):
    target, workers = tmp_path / "out", {"workers": rp.scale.DaskWorkers()}
    with dask.config.set(scheduler="threads", num_workers=2):
        first, second = ({}, workers) if is_alone_first else (workers, {})
        times = interrupted(release, target, **first)
        release.save(target, "parts", **second)
    after = times_of(target)
    assert len(times) >= 3
    assert {name: after[name] for name in times} == times
    assert contents(target) == contents(tmp_path / "whole")


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
    assert len(times) == 3
    assert len(os.listdir(hidden_of(tmp_path / "out") / "parts")) == 3
    release.save(tmp_path / "out", "parts")
    after = times_of(tmp_path / "out")
    assert {name: after[name] for name in times} == times
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")

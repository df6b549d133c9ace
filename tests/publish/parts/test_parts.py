"""Releases in parts: the same numbers as the release's, files that depend on nothing else, and runs that go on."""

import os
import shutil
import sys
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release
from residualplanner.release import layout as layouts
from small_pieces import contents, hidden_of, interrupted, times_of
from workloads_by_set import ODD

DOMAIN = rp.Domain({"a": 3, "b": ["x", "y"], "c": 4, "d": 5})
PLAIN = rp.marginals(DOMAIN, up_to=3)
MIXED = PLAIN + rp.Workload(
    DOMAIN, [("c", "a"), {"d": rp.Prefix(), "b": rp.Identity()}, {"c": rp.Range(), "a": rp.Identity()}, ("d", "b", "a")]
)
ONLY = [0, 2, 3]


@cache
def release_of(workload, bases="optimal"):
    return any_release(rp.select(workload, budget=rp.pcost(1), bases=bases))


@given(st.lists(st.integers(1, 200), min_size=1, max_size=40))
def test_parts_and_row_groups_hold_whole_tables_each_once(sizes):
    domain = rp.Domain({f"a{i}": size for i, size in enumerate(sizes)})
    layout = layouts.layout_of(rp.Workload(domain, [(name,) for name in domain.names]))
    assert layout.parts[[0, -1]].tolist() == [0, len(sizes)]
    assert (np.diff(layout.parts) > 0).all()
    for part, (first, last) in enumerate(pairwise(layout.parts.tolist())):
        groups = layout.row_groups(part)
        assert groups[[0, -1]].tolist() == [first, last]
        assert (np.diff(groups) > 0).all()
        assert layout.cells_of(part) == sum(sizes[first:last])
        assert sum(sizes[first : last - 1]) < layouts.PART_CELLS
        assert all(sum(sizes[a : b - 1]) < layouts.ROW_GROUP_CELLS for a, b in pairwise(groups.tolist()))
        assert {layout.part_of(table) for table in range(first, last)} == {part}


@pytest.mark.parametrize(("workload", "bases"), [(MIXED, "optimal"), (ODD, "optimal_by_set")], ids=["mixed", "odd"])
def test_tables_read_back_are_those_of_the_release_bit_for_bit(workload, bases, tmp_path):
    release = release_of(workload, bases)
    release.save(tmp_path / "out", "parts")
    saved = rp.load_tables(tmp_path / "out")
    assert list(saved) == list(release)
    for query in release:
        mine, theirs = saved[query], release[query]
        assert np.array_equal(mine.estimate, theirs.estimate)
        assert np.array_equal(mine.std_err, theirs.std_err)
        assert mine.names == theirs.names
        assert query in saved


def test_standard_errors_have_a_column_only_where_cells_of_a_table_differ_in_them(tmp_path):
    release_of(PLAIN).save(tmp_path / "plain", "parts")
    assert pq.read_schema(tmp_path / "plain/parts/part-000000.parquet").names == ["table_id", "cell", "estimate"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files that are mapped cannot be removed there")
def test_two_processes_write_the_files_that_one_writes_of_a_measurement_mapped_or_not(tmp_path):
    measured = rp.measure(rp.select(MIXED, budget=rp.pcost(1)), np.zeros((100, len(DOMAIN)), dtype=int))
    measured.save(tmp_path / "some.measurement")
    for mapped in (False, True):
        measurement = rp.load_measurement(tmp_path / "some.measurement", mapped=mapped)
        assert (measurement.mapped_from is not None) is mapped
        rp.reconstruct(measurement).save(tmp_path / f"out{mapped}", "parts", workers=2 if mapped else 1)
    assert contents(tmp_path / "outTrue") == contents(tmp_path / "outFalse")
    assert sorted(os.listdir(tmp_path)) == ["outFalse", "outTrue", "some.measurement"]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "whole", "parts")
    times = interrupted(release, tmp_path / "out")
    assert len(times) == 3
    hidden = hidden_of(tmp_path / "out")
    for name in (
        "parts/.part-000003.parquet.abcd.partial",
        ".manifest.json.abcd.partial",
        ".tables.parquet.abcd.partial",
        "answers.measurement",
        "tables.parquet",
    ):
        (hidden / name).write_bytes(b"half")
    release.save(tmp_path / "out", "parts")
    after = times_of(tmp_path / "out")
    assert {name: after[name] for name in times} == times
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["out", "whole"]


def test_parts_of_another_measurement_or_of_other_parts_are_not_gone_on_with(tmp_path):
    release, other = release_of(MIXED), any_release(rp.select(MIXED, budget=rp.pcost(1)), seed=2)
    interrupted(release, tmp_path / "out", after=1)
    other.save(tmp_path / "out", "parts")
    assert np.array_equal(rp.load_tables(tmp_path / "out")["a", "b"].estimate, other["a", "b"].estimate)
    interrupted(release, tmp_path / "some", after=1, only=ONLY)
    release.save(tmp_path / "some", only=[1])
    assert sorted(os.listdir(tmp_path / "some/parts")) == ["part-000001.parquet"]
    assert len(times_of(hidden_of(tmp_path / "some"))) == 1  # those of the run that was interrupted are still there


def test_very_many_tables_are_in_parts_where_no_format_is_given(tmp_path):
    many = rp.marginals(rp.Domain({f"q{number}": 2 for number in range(101)}), up_to=2)
    release = any_release(rp.select(many, budget=rp.pcost(1)))
    assert interrupted(release, tmp_path / "many", after=1, format=None)


def test_some_parts_are_those_of_the_whole_release_and_hold_its_tables(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "whole", "parts")
    release.save(tmp_path / "some", only=iter(ONLY[::-1]))
    release.save(tmp_path / "named", "parts", only=ONLY)
    whole, some = contents(tmp_path / "whole"), contents(tmp_path / "some")
    assert contents(tmp_path / "named") == some
    parts = {f"parts/part-{number:06}.parquet" for number in ONLY}
    assert {name for name in some if name.startswith("parts/")} == parts
    assert all(some[name] == whole[name] for name in parts | {"labels.parquet", "release.plan", "metadata.json"})
    everything, saved = rp.load_tables(tmp_path / "whole"), rp.load_tables(tmp_path / "some")
    mine = [number for number, query in enumerate(release) if release.part_of(query) in ONLY]
    assert list(saved) == [query for number, query in enumerate(release) if number in mine]
    assert len(saved) == saved.numbers.manifest["tables"]["count"] == len(mine)
    assert saved.query_numbers.tolist() == mine
    assert (saved.numbers.is_whole, everything.numbers.is_whole) == (False, True)
    assert saved.numbers.errors.equals(everything.numbers.errors.iloc[mine].reset_index(drop=True))
    for query in release:
        assert (query in saved) == (release.part_of(query) in ONLY)
        if query in saved:
            assert np.array_equal(saved[query].estimate, release[query].estimate)
        else:
            with pytest.raises(rp.errors.WorkloadError, match="has no table for"):
                saved[query]
    rows = pq.read_table(tmp_path / "some" / "tables.parquet").to_pandas()
    assert rows["table_id"].tolist() == mine
    assert set(rows["part"]) == set(ONLY)


def test_the_tables_of_some_parts_are_computed_alone():
    release, steps = release_of(MIXED), []
    found = list(release.tables(lambda done, total: steps.append((done, total)), only=ONLY))
    expected = [query for query in release if release.part_of(query) in ONLY]
    assert [table.query for table in found] == expected
    assert all(np.array_equal(table.estimate, release[table.query].estimate) for table in found)
    assert steps[-1] == (len(expected), len(expected))
    numbers = np.concatenate([batch.queries for batch in release.batches(only=ONLY)])
    assert sorted(numbers) == release.layout.tables_of(ONLY).tolist()


@pytest.mark.parametrize("only", [[], [-1], [99], [1.0], "1", 3, [None]])
def test_parts_are_named_by_their_numbers(tmp_path, only):
    release = release_of(MIXED)
    for ask in (lambda: release.save(tmp_path / "out", only=only), lambda: next(release.tables(only=only))):
        with pytest.raises(rp.errors.WorkloadError, match=r"only must be numbers of parts, from 0 to \d+"):
            ask()
    with pytest.raises(rp.errors.WorkloadError, match=r'only= is for format="parts", not .csv.'):
        release.save(tmp_path / "out", "csv", only=[0])
    with pytest.raises(rp.errors.WorkloadError, match=r"is no query of the workload, whose tables are in parts"):
        release.part_of(("a", "b", "c", "d"))
    assert os.listdir(tmp_path) == []


def test_too_little_room_for_the_parts_is_found_before_any_is_written(tmp_path, monkeypatch):
    release, left = release_of(PLAIN), SimpleNamespace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: left)
    answers = 8 * release.measurement.residuals.count
    left.free = 8 * int(PLAIN.cells.sum()) + answers - 1
    with pytest.raises(rp.errors.ResourceError, match=r"too little room: parts and measurement take at least"):
        release.save(tmp_path / "out", "parts")
    assert os.listdir(tmp_path) == []
    left.free += 1
    release.save(tmp_path / "enough", "parts")
    left.free = 100 * 8 + answers
    release.save(tmp_path / "some", only=[0])

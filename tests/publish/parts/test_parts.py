"""Releases in parts: the same numbers as the release's, files that depend on nothing else, and runs that go on."""

import os
import shutil
import sys
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release, forge_hash
from residualplanner.publish import style
from residualplanner.publish.parts import saving
from residualplanner.release import layout as layouts
from residualplanner.release.layout import layout_of
from workloads_by_set import ODD

DOMAIN = rp.Domain({"a": 3, "b": ["x", "y"], "c": 4, "d": 5})
PLAIN = rp.marginals(DOMAIN, up_to=3)
MIXED = PLAIN + rp.Workload(
    DOMAIN, [("c", "a"), {"d": rp.Prefix(), "b": rp.Identity()}, {"c": rp.Range(), "a": rp.Identity()}, ("d", "b", "a")]
)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Parts of some tables, so that there are several."""
    monkeypatch.setattr(layouts, "PART_CELLS", 64)
    monkeypatch.setattr(layouts, "ROW_GROUP_CELLS", 16)


@cache
def release_of(workload, bases="optimal"):
    return any_release(rp.select(workload, budget=rp.pcost(1), bases=bases))


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@given(st.lists(st.integers(1, 200), min_size=1, max_size=40))
def test_parts_and_row_groups_hold_whole_tables_each_once(sizes):
    domain = rp.Domain({f"a{i}": size for i, size in enumerate(sizes)})
    layout = layout_of(rp.Workload(domain, [(name,) for name in domain.names]))
    assert layout.parts[0] == 0
    assert layout.parts[-1] == len(sizes)
    assert (np.diff(layout.parts) > 0).all()
    for part, (first, last) in enumerate(pairwise(layout.parts.tolist())):
        groups = layout.row_groups(part)
        assert groups[0] == first
        assert groups[-1] == last
        assert (np.diff(groups) > 0).all()
        assert layout.cells_of(part) == sum(sizes[first:last])
        assert sum(sizes[first : last - 1]) < layouts.PART_CELLS
        assert all(sum(sizes[a : b - 1]) < layouts.ROW_GROUP_CELLS for a, b in pairwise(groups.tolist()))
        assert {layout.part_of(table) for table in range(first, last)} == {part}


@pytest.mark.parametrize(
    ("workload", "bases"),
    [(PLAIN, "optimal"), (MIXED, "optimal"), (ODD, "optimal_by_set")],
    ids=["plain", "mixed", "odd"],
)
def test_tables_read_back_are_those_of_the_release_bit_for_bit(workload, bases, tmp_path):
    release = release_of(workload, bases)
    release.save(tmp_path / "out", "parts")
    saved = rp.load_tables(tmp_path / "out")
    assert len(saved) == len(release)
    assert list(saved) == list(release)
    for query in release:
        mine, theirs = saved[query], release[query]
        assert np.array_equal(mine.estimate, theirs.estimate)
        assert np.array_equal(mine.std_err, theirs.std_err)
        assert mine.names == theirs.names
        assert query in saved


def test_a_table_has_its_axes_as_the_query_is_written_now(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "out", "parts")
    saved = rp.load_tables(tmp_path / "out")
    for query in [("a", "c"), ("c", "a"), ("b", "a", "d"), {"b": rp.Identity(), "d": rp.Prefix()}]:
        assert np.array_equal(saved[query].estimate, release[query].estimate)
        assert saved[query].names == release[query].names


def test_what_is_not_in_the_folder_is_an_error_with_what_to_do(tmp_path):
    release = release_of(rp.Workload(DOMAIN, [("a", "b")]))
    release.save(tmp_path / "out", "parts")
    saved = rp.load_tables(tmp_path / "out")
    assert ("a",) not in saved
    assert "nothing" not in saved
    assert saved.get(("a",)) is None
    with pytest.raises(rp.errors.WorkloadError, match=r"has no table for \('a',\).*reconstruct\(tables\) may have it"):
        saved[("a",)]


def test_the_columns_are_those_of_sql(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "out", "parts")
    rows = ds.dataset(tmp_path / "out" / "parts").to_table().to_pandas()
    tables = pq.read_table(tmp_path / "out" / "tables.parquet").to_pandas()
    labels = pq.read_table(tmp_path / "out" / "labels.parquet").to_pandas()
    assert list(tables["table_id"]) == list(range(len(release)))
    for number, query in enumerate(release):
        table, row = release[query], tables.iloc[number]
        mine = rows[rows["table_id"] == number].sort_values("cell")
        assert np.array_equal(mine["estimate"], table.estimate.ravel())
        np.testing.assert_allclose(mine["std_err"], table.std_err.ravel(), rtol=1e-12)
        assert tuple(row["shape"]) == table.estimate.shape
        assert tuple(row["attributes"]) == table.names
        index = np.unravel_index(table.estimate.size - 1, table.estimate.shape)
        for axis, place in enumerate(index):
            is_mine = (labels["attribute"] == row["attributes"][axis]) & (labels["kind"] == row["kinds"][axis])
            (label,) = labels[is_mine & (labels["index"] == place)]["label"]
            assert label == str(table.labels[axis][place])


def test_standard_errors_have_a_column_only_where_cells_of_a_table_differ_in_them(tmp_path):
    release_of(PLAIN).save(tmp_path / "plain", "parts")
    assert pq.read_schema(tmp_path / "plain/parts/part-000000.parquet").names == ["table_id", "cell", "estimate"]


@pytest.mark.slow
def test_files_depend_on_the_measurement_alone(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "one", "parts")
    release.save(tmp_path / "two", "parts", workers=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "whole", "parts")
    steps = []

    def stop(done, total):
        steps.append((done, total))
        if len(steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        release.save(tmp_path / "out", "parts", progress=stop)
    assert "goes on from there" in caught.value.__notes__[0]
    (hidden,) = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    done = sorted(os.listdir(tmp_path / hidden / "parts"))
    assert len(done) == 3
    (tmp_path / hidden / "parts" / ".part-000003.parquet.abcd.partial").write_bytes(b"half")
    for name in (
        ".manifest.json.abcd.partial",
        ".tables.parquet.abcd.partial",
        "answers.measurement",
        "tables.parquet",
    ):
        (tmp_path / hidden / name).write_bytes(b"half")
    times = {name: os.stat(tmp_path / hidden / "parts" / name).st_mtime_ns for name in done}
    release.save(tmp_path / "out", "parts")
    assert {name: os.stat(tmp_path / "out" / "parts" / name).st_mtime_ns for name in done} == times
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["out", "whole"]


def test_parts_of_another_measurement_are_not_gone_on_with(tmp_path):
    plan = rp.select(PLAIN, budget=rp.pcost(1))

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        any_release(plan, seed=1).save(tmp_path / "out", "parts", progress=stop)
    other = any_release(plan, seed=2)
    other.save(tmp_path / "out", "parts")
    assert np.array_equal(rp.load_tables(tmp_path / "out")["a", "b"].estimate, other["a", "b"].estimate)


def test_a_damaged_part_of_an_interrupted_run_is_written_again(tmp_path):
    release = release_of(PLAIN)

    def stop(done, total):
        raise KeyboardInterrupt

    release.save(tmp_path / "whole", "parts")
    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "out", "parts", progress=stop)
    (hidden,) = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    (tmp_path / hidden / "parts" / "part-000000.parquet").write_bytes(b"PAR1 nothing PAR1")
    release.save(tmp_path / "out", "parts")
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(FileExistsError, match="is not empty"):
        release_of(PLAIN).save(tmp_path / "out", "parts")
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("format_profile", ["acs", "gls"])
def test_other_profiles_are_refused(tmp_path, format_profile):
    with pytest.raises(rp.errors.WorkloadError, match='"parts" has estimates and standard errors only'):
        release_of(PLAIN).save(tmp_path / "out", "parts", profile=format_profile)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_a_number_of_processes(tmp_path, workers):
    with pytest.raises(rp.errors.WorkloadError, match="workers must be a number of processes"):
        release_of(PLAIN).save(tmp_path / "out", "parts", workers=workers)


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "parts"), ({"format": "csv"}, "csv"), ({"format": "parquet"}, "parquet"), ({"profile": "acs"}, "parquet")],
)
def test_very_many_tables_are_in_parts_unless_another_format_is_given(tmp_path, monkeypatch, given, expected):
    release = release_of(PLAIN)
    monkeypatch.setattr(style, "MOST_FILES", len(release))
    release.save(tmp_path / "few")
    assert rp.load_tables(tmp_path / "few").numbers.manifest["tables"]["format"] == "parquet"
    monkeypatch.setattr(style, "MOST_FILES", len(release) - 1)
    release.save(tmp_path / "many", **given)
    assert rp.load_tables(tmp_path / "many").numbers.manifest["tables"]["format"] == expected


ONLY = [0, 2, 3]


@pytest.mark.slow
def test_some_parts_are_those_of_the_whole_release_and_hold_its_tables(tmp_path):
    release = release_of(MIXED)
    release.save(tmp_path / "whole", "parts")
    for name, options in {"some": {}, "by two": {"workers": 2}, "named": {"format": "parts"}}.items():
        release.save(tmp_path / name, only=iter(ONLY[::-1]), **options)
        assert content(tmp_path / name) == content(tmp_path / "some")
    parts = {f"parts/part-{number:06}.parquet" for number in ONLY}
    whole, some = content(tmp_path / "whole"), content(tmp_path / "some")
    assert {name for name in some if name.startswith("parts/")} == parts
    assert all(some[name] == whole[name] for name in parts | {"labels.parquet", "release.plan", "metadata.json"})
    everything, saved = rp.load_tables(tmp_path / "whole"), rp.load_tables(tmp_path / "some")
    mine = [number for number, query in enumerate(release) if release.part_of(query) in ONLY]
    assert list(saved) == [query for number, query in enumerate(release) if number in mine]
    assert len(saved) == saved.numbers.manifest["tables"]["count"] == len(mine)
    assert saved.query_numbers.tolist() == mine
    assert not saved.numbers.is_whole
    assert everything.numbers.is_whole
    assert saved.numbers.errors.equals(everything.numbers.errors.iloc[mine].reset_index(drop=True))
    for query in release:
        assert (query in saved) == (release.part_of(query) in ONLY)
        if query in saved:
            assert np.array_equal(saved[query].estimate, release[query].estimate)
        else:
            with pytest.raises(
                rp.errors.WorkloadError, match=rf"is in part {release.part_of(query)}, which .* saved with\sonly="
            ):
                saved[query]
    rows = pq.read_table(tmp_path / "some" / "tables.parquet").to_pandas()
    assert rows["table_id"].tolist() == mine
    assert set(rows["part"]) == set(ONLY)


def test_the_tables_of_some_parts_are_computed_alone():
    release, steps = release_of(MIXED), []
    found = list(release.tables(lambda done, total: steps.append((done, total)), only=ONLY))
    expected = [query for query in release if release.part_of(query) in ONLY]
    assert [table.query for table in found] == expected
    for table in found:
        assert np.array_equal(table.estimate, release[table.query].estimate)
    assert steps[-1] == (len(expected), len(expected))
    numbers = np.concatenate([batch.queries for batch in release.batches(only=ONLY)])
    assert sorted(numbers) == release.layout.tables_of(ONLY).tolist()


@pytest.mark.parametrize("only", [[], [-1], [99], [1.0], "1", 3, [None]])
def test_parts_are_named_by_their_numbers(tmp_path, only):
    release = release_of(MIXED)
    for ask in (lambda: release.save(tmp_path / "out", only=only), lambda: next(release.tables(only=only))):
        with pytest.raises(
            rp.errors.WorkloadError, match=r"only must be numbers of parts, from 0 to \d+, such as only=range"
        ):
            ask()
    with pytest.raises(rp.errors.WorkloadError, match=r'only= is for format="parts", not .csv.'):
        release.save(tmp_path / "out", "csv", only=[0])
    with pytest.raises(rp.errors.WorkloadError, match=r"is no query of the workload, whose tables are in parts"):
        release.part_of(("a", "b", "c", "d"))
    assert os.listdir(tmp_path) == []


def test_an_interrupted_run_of_some_parts_goes_on_only_with_the_same_parts(tmp_path):
    release = release_of(MIXED)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release.save(tmp_path / "out", only=ONLY, progress=stop)
    release.save(tmp_path / "out", only=[1])
    assert sorted(os.listdir(tmp_path / "out" / "parts")) == ["part-000001.parquet"]


def test_a_list_that_lacks_a_part_is_refused(tmp_path):
    release_of(PLAIN).save(tmp_path / "out", "parts")
    path = tmp_path / "out/parts.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    forge_hash(tmp_path / "out", "parts.csv")
    with pytest.raises(rp.errors.FileFormatError, match="names other parts"):
        rp.load_tables(tmp_path / "out")


def test_too_little_room_for_the_parts_is_found_before_any_is_written(tmp_path, monkeypatch):
    release = release_of(PLAIN)
    needed = 8 * (int(PLAIN.cells.sum()) + release.measurement.residuals.count)
    for free, is_refused in ((needed - 1, True), (needed, False)):
        monkeypatch.setattr(saving.shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        if is_refused:
            with pytest.raises(
                rp.errors.ResourceError,
                match=r"too little room: parts and measurement take at least .* nothing was written",
            ):
                release.save(tmp_path / "out", "parts")
            assert os.listdir(tmp_path) == []
        else:
            release.save(tmp_path / "enough", "parts")
    monkeypatch.setattr(
        saving.shutil, "disk_usage", lambda _: SimpleNamespace(free=100 * 8 + 8 * release.measurement.residuals.count)
    )
    release.save(tmp_path / "some", only=[0])


def damaged(folder, damage):
    release_of(PLAIN).save(folder, "parts")
    part, other = (folder / "parts" / f"part-00000{number}.parquet" for number in range(2))
    if damage == "altered":
        data = bytearray(part.read_bytes())
        data[100] ^= 1
        part.write_bytes(data)
    elif damage == "absent":
        part.unlink()
    elif damage == "another":
        shutil.copy(other, part)
    return part


@pytest.mark.parametrize("damage", ["altered", "absent", "another"])
def test_a_part_that_is_not_the_saved_one_is_refused(tmp_path, damage):
    path = damaged(tmp_path / "out", damage)
    saved = rp.load_tables(tmp_path / "out")
    with pytest.raises(rp.errors.FileFormatError, match="save the release again") as caught:
        saved[()]
    assert str(path) in str(caught.value)


def test_a_list_of_other_parts_is_refused(tmp_path):
    release_of(PLAIN).save(tmp_path / "out", "parts")
    path = tmp_path / "out/parts.csv"
    path.write_text(path.read_text().replace("part-000001", "part-000007"))
    forge_hash(tmp_path / "out", "parts.csv")
    with pytest.raises(rp.errors.FileFormatError, match="names other parts"):
        rp.load_tables(tmp_path / "out")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="files that are mapped cannot be removed there")
def test_a_release_of_a_mapped_measurement_is_the_same(tmp_path):
    plan = rp.select(PLAIN, budget=rp.pcost(1))
    records = np.random.default_rng(0).integers(0, DOMAIN.sizes, (100, len(DOMAIN)))
    rp.measure(plan, records).save(tmp_path / "some.measurement")
    for mapped in (False, True):
        measurement = rp.load_measurement(tmp_path / "some.measurement", mapped=mapped)
        assert (measurement.mapped_from is not None) is mapped
        rp.reconstruct(measurement).save(tmp_path / f"out{mapped}", "parts", workers=2 if mapped else 1)
    assert content(tmp_path / "outTrue") == content(tmp_path / "outFalse")

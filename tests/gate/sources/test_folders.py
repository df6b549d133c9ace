"""Folders of Parquet files are counted like one table of all their records."""

import shutil
import subprocess
import sys
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import dataset, parquet

import residualplanner as rp
from counted_records import RECORDS, assert_counts, columns_of
from forms_of_records import counts
from residualplanner import Attribute, Domain


def write(folder, *parts):
    for number, (below, columns) in enumerate(parts):
        (folder / below).mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(columns), folder / below / f"part-{number}.parquet", row_group_size=3)


@given(records=RECORDS, keys=st.sets(st.sampled_from(["text", "code", "integer", "truth", "number"])))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_folder_partitioned_by_any_columns_is_counted_like_a_list_of_records(tmp_path_factory, records, keys):
    folder = tmp_path_factory.mktemp("folder")
    flavor = dataset.partitioning(pa.schema([(key, pa.string()) for key in sorted(keys)]), flavor="hive")
    table = pa.table(columns_of(records))
    for key in keys:  # as PyArrow writes them all in the end
        text = [None if value is None else str(value) for value in table[key].to_pylist()]
        table = table.set_column(table.column_names.index(key), key, pa.array(text, pa.string()))
    if len(keys) == table.num_columns:
        table = table.append_column("rest", pa.nulls(len(table), pa.int8()))
    dataset.write_dataset(table, folder, format="parquet", partitioning=flavor)
    assert_counts(folder, records)


def test_values_in_paths_are_text_and_nothing_is_guessed(tmp_path):
    labels = ["01", "1", "NULL", "null", "2020-01-01", "a/b", "50%", "é", "", "x=y", "[a]*?", "true", "-"]
    domain = Domain({"key": Attribute("key", labels=labels, missing="-")})
    for number, label in enumerate(labels[:-1]):
        write(tmp_path, (f"key={quote(label, safe='')}", {"a": [0] * (number + 1)}))
    write(tmp_path, ("key=__HIVE_DEFAULT_PARTITION__", {"a": [0] * 50}))
    assert counts(tmp_path, domain) == [*range(1, len(labels)), 50]
    shutil.rmtree(tmp_path / "key=1")
    shutil.move(tmp_path / "key=01", tmp_path / "key=1")
    assert counts(tmp_path, domain)[:2] == [0, 1]


def test_special_letters_that_a_system_allows_may_stand_in_paths_as_they_are(tmp_path):
    folder = tmp_path / "[odd] *name? 'q' \"q\" {a,b}"
    names = ["a b", "[x]", "x", "*", "?", "ä", "a\\b"]
    for number, name in enumerate(names):
        write(folder, (f"key={name}", {"n": [number]}))
    domain = Domain({"key": names, "n": len(names)})
    assert counts(folder, domain, (0, 1)) == np.eye(len(names), dtype=int).tolist()


def test_numbers_in_paths_are_numbers_where_the_schema_has_numbers(tmp_path):
    write(tmp_path, ("year=2020/month=1", {"a": [0, 1]}), ("year=2021/month=2", {"a": [1]}))
    domain = Domain({"year": [2020, 2021], "month": [1, 2]})
    assert counts(tmp_path, domain) == counts(tmp_path, domain, (1,)) == [2, 1]
    write(tmp_path, ("year=2021/month=02", {"a": [1]}))
    with pytest.raises(rp.errors.DataError, match="column 'month' has values outside its schema") as caught:
        counts(tmp_path, domain)
    assert "02" not in str(caught.value)


def test_files_may_differ_in_the_order_and_the_types_of_their_columns(tmp_path):
    write(
        tmp_path,
        ("", {"A": [9], "a": pa.array([1], pa.int8()), "b": ["x"], "a.b": [0]}),
        ("", {"b": pa.array(["y"]).dictionary_encode(), "a": [0.0], "c": [5]}),
        ("deep/er", {"a": ["1"], "b": ["x"]}),
    )
    assert counts(tmp_path, Domain({"b": ["x", "y"], "a": 2}), (0, 1)) == [[0, 2], [1, 0]]


def test_hidden_names_are_passed_over(tmp_path):
    write(tmp_path, ("", {"a": [0]}), (".hidden", {"a": [1]}), ("_temporary", {"a": [1]}))
    for name in ("_SUCCESS", "._SUCCESS.crc", "_metadata"):
        (tmp_path / name).write_bytes(b"")
    assert counts(tmp_path, Domain({"a": 2})) == [1, 0]


PART = {"a": [0]}
SPOILED = {
    "nothing": (lambda folder: (folder / "year=2020").mkdir(), r"there is no \.parquet file in the folder"),
    "another file": (
        lambda folder: (write(folder, ("", PART)), (folder / "secret.csv").write_text("a\n0\n")),
        r"files that are not \.parquet",
    ),
    "a log": (lambda folder: write(folder, ("", PART), ("_delta_log", PART)), "whose log says which files count"),
    "a link": (
        lambda folder: (write(folder, ("here", PART)), (folder / "there").symlink_to(folder / "here")),
        "links to other folders",
    ),
    "a column that one file lacks": (
        lambda folder: write(folder, ("secret=1", PART), ("secret=2", {"b": [0]})),
        r"column 'a' is missing",
    ),
    "a key that one path lacks": (
        lambda folder: write(folder, ("a=1", {"b": [0]}), ("c=1", {"b": [0]})),
        r"column 'a' is missing",
    ),
    "another case": (lambda folder: write(folder, ("", PART), ("", {"A": [0]})), r"column 'a' is missing"),
    "twice": (lambda folder: write(folder, ("a=1", PART)), r"column 'a' occurs more than once"),
    "a broken file": (
        lambda folder: (write(folder, ("", PART)), (folder / "z.parquet").write_bytes(b"PAR1 secret PAR1")),
        "could not be read as a table",
    ),
    "an odd path": (lambda folder: write(folder, ("a=%ff", {"b": [0]})), "could not be read as a table"),
}


@pytest.mark.parametrize(("make", "message"), SPOILED.values(), ids=SPOILED)
def test_a_folder_that_may_hold_something_else_is_refused(make, message, tmp_path):
    make(tmp_path)
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        counts(tmp_path, Domain({"a": 2}))
    assert "secret" not in str(caught.value)


MEASURED = """
import sys, numpy as np, pyarrow, pyarrow.parquet
from residualplanner.method.domain.domain import Domain
from residualplanner.gate.sources.opening import open_source
peak = lambda: int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))) / 1024
open_source(sys.argv[1] + "/k=0", Domain({"a": 256})).count([np.array([[0]])])
before = peak()
print(open_source(sys.argv[1], Domain({"a": 256, "k": 8})).count([np.array([[0, 1]])])[0].sum(), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_number_of_records(tmp_path):
    numbers = np.random.default_rng(0).integers(0, 256, 2 * 10**6)
    for part in range(8):  # 122 MiB once read
        (tmp_path / f"k={part}").mkdir()
        parquet.write_table(pa.table({"a": numbers}), tmp_path / f"k={part}" / "part.parquet")
    command = [sys.executable, "-c", MEASURED, str(tmp_path)]
    records, more = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(records) == 16 * 10**6
    assert float(more) < 40  # MiB

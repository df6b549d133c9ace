"""A folder read back holds the numbers that were saved, bit for bit, or is refused with the name of a file."""

import csv
import hashlib
import itertools
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release
from residualplanner import (
    Bins,
    Custom,
    Domain,
    Hierarchy,
    Prefix,
    Range,
    Workload,
    load_tables,
    marginals,
    select,
    zcdp,
)

FORMATS, PROFILES = ("parquet", "csv", "xlsx"), ("default", "acs", "gls")
DOMAIN = Domain({"a": Bins([0, 1, 2, 3]), "b": ["01", "02"], "one": 1, "id": [2**60, -5], "yes": [False, True]})
KINDS = [Prefix(), Range(), Custom([[1, 1, 1], [1, 0, 2]], labels=["all", "x, y"]), Custom([[1, 1, 1], [2, 0, 1]])]
WORKLOAD = marginals(DOMAIN, up_to=2) + Workload(
    DOMAIN,
    [query for kind in KINDS for query in ({"a": kind}, {"a": kind, "b": Prefix()})]
    + [{"b": Hierarchy([{"low": ["01"], "high": ["02"]}])}],
)
RELEASE = any_release(select(WORKLOAD, budget=zcdp(0.5)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every format and profile."""
    home = tmp_path_factory.mktemp("releases")
    for file_format, profile in itertools.product(FORMATS, PROFILES):
        RELEASE.save(home / f"{file_format}-{profile}", file_format, profile=profile)
    return home


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_every_format_gives_back_the_same_bits_which_are_the_frames(saved, profile):
    loaded = {file_format: load_tables(saved / f"{file_format}-{profile}") for file_format in FORMATS}
    for query, table in RELEASE.items():
        first, *others = (loaded[file_format].numbers.frame(query) for file_format in FORMATS)
        for other in others:
            pd.testing.assert_frame_equal(first, other, check_exact=True)
        expected = table.to_frame(profile=profile)
        pd.testing.assert_frame_equal(first, expected, rtol=1e-13)
        estimate = "E" if profile == "acs" else "estimate"
        assert first[estimate].tolist() == table.estimate.ravel().tolist()
        for tables in loaded.values():
            found = tables[query]
            assert (found.query, found.estimate.tolist()) == (table.query, table.estimate.tolist())
            assert not found.estimate.flags.writeable
            pd.testing.assert_frame_equal(found.to_frame(profile=profile), expected, check_exact=True)
    for tables in loaded.values():
        assert list(tables) == list(RELEASE)
        assert len(tables) == len(RELEASE)
        assert tables.numbers.profile == profile
        assert tables.numbers.metadata["tables"]["conf_level"] == (0.9 if profile == "acs" else 0.95)
        errors = RELEASE.plan.errors(0.9 if profile == "acs" else 0.95)
        pd.testing.assert_frame_equal(
            tables.numbers.errors, errors.astype(tables.numbers.errors.dtypes), check_exact=True
        )


def test_a_query_is_found_in_any_order_and_others_are_not_there(saved):
    tables = load_tables(saved / "parquet-default")
    assert tables["yes", "b"].to_frame().equals(RELEASE["yes", "b"].to_frame())
    assert tables["b", "yes"].to_frame().equals(RELEASE["b", "yes"].to_frame())
    assert tables.numbers.frame(("yes", "b")).equals(tables.numbers.frame(("b", "yes")))
    assert ("b", "yes") in tables
    assert {"a": Range()} in tables
    for query in (("a", "b", "yes"), {"yes": Prefix()}, {"a": Custom([[1, 1, 1], [5, 0, 1]])}):
        assert query not in tables
        assert tables.get(query) is None
        with pytest.raises(rp.errors.WorkloadError, match=r"parquet-default has no table for \("):
            tables[query]
        with pytest.raises(rp.errors.WorkloadError, match="has no table for"):
            tables.numbers.frame(query)
    assert ("nobody",) not in tables
    with pytest.raises(rp.errors.DomainError):
        tables["nobody"]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufffe\uffff"), max_size=6) | st.sampled_from(
    [
        "=1+1",
        "001",
        "1e5",
        "NA",
        "nan",
        "TRUE",
        "",
        " ",
        '"',
        '""',
        "a,b",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "_x0041_",
        "\x00",
        "'",
    ]
)


@given(
    name=texts.filter(lambda text: text and not text.startswith("<r>") and text not in ("E", "M")),
    labels=st.lists(texts.filter(lambda text: not text.startswith("<r>")), min_size=2, max_size=6, unique=True),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
@example(name="=A1", labels=["\ufeff", "x"], seed=0)
@settings(max_examples=15)
def test_any_text_and_any_number_survive_every_format(name, labels, seed):
    domain = Domain({name: labels})
    release = any_release(select(marginals(domain, up_to=1), budget=zcdp(0.5)), seed)
    expected = release[name,].to_frame(profile="acs")
    with TemporaryDirectory() as folder:
        for file_format in FORMATS:
            release.save(Path(folder) / file_format, file_format, profile="acs")
            found = load_tables(Path(folder) / file_format).numbers.frame((name,))
            assert found.columns.tolist() == [name, "E", "M"]
            assert found[name].tolist() == labels
            assert found["E"].tolist() == expected["E"].tolist()
            np.testing.assert_allclose(found["M"], expected["M"], rtol=1e-14)


@given(scale=st.floats(-300, 300), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_numbers_of_any_size_keep_every_bit_in_a_workbook(scale, seed):
    import pyarrow as pa

    from residualplanner.publish.files import workbook
    from residualplanner.publish.files.reading import read_columns

    values = np.random.default_rng(seed).normal(size=5) * 10.0**scale
    found = read_columns(workbook.write(pa.table({"x": values}), []), Path("x.xlsx"), {"x": "double"}, 5)
    assert found["x"].to_pylist() == values.tolist()


@pytest.fixture
def folder(saved, tmp_path):
    """A copy to damage."""
    return Path(shutil.copytree(saved / "csv-default", tmp_path / "copy"))


def test_a_table_that_was_altered_is_refused_when_it_is_read(folder):
    path = folder / "tables" / "b.csv"
    path.write_bytes(path.read_bytes().replace(b"0", b"1", 1))
    tables = load_tables(folder)
    assert tables["yes"].estimate.shape == (2,)
    with pytest.raises(rp.errors.FileFormatError, match=r"tables/b\.csv was altered: its SHA-256 is not the one"):
        tables["b"]
    with pytest.raises(rp.errors.FileFormatError, match="was altered"):
        tables.get("b")
    path.unlink()
    with pytest.raises(rp.errors.FileFormatError, match=r"tables/b\.csv is missing"):
        tables["b"]


@pytest.mark.parametrize("name", ["index.csv", "metadata.json"])
@pytest.mark.parametrize("change", ["altered", "is missing"])
def test_what_stands_beside_the_tables_is_compared_with_the_manifest(folder, name, change):
    path = folder / name
    if change == "altered":
        path.write_bytes(path.read_bytes() + b"\n")
    else:
        path.unlink()
    with pytest.raises(rp.errors.FileFormatError, match=rf"{name} .*{change}"):
        load_tables(folder)


def test_the_error_table_is_compared_when_it_is_read(folder):
    (folder / "errors.csv").write_text("query\n")
    with pytest.raises(rp.errors.FileFormatError, match=r"errors\.csv was altered"):
        _ = load_tables(folder).numbers.errors


def forge(folder, change, name="manifest.json"):
    """Change a JSON file, and the hash that the manifest has of it."""
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_text(json.dumps(value))
    if name != "manifest.json":
        rehash(folder, name)


def rehash(folder, name):
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    forge(folder, lambda manifest: manifest["files"].update({name: digest}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.update(version=9), "written by a newer version .format 9, this reads 8.; upgrade residualplanner"),
        (lambda m: m.update(version=7), "format 7 is no longer read; save the release again"),
        (lambda m: m.update(version="8"), "written by a newer version"),
        (lambda m: m.update(format="residualplanner/plan"), "is not the manifest of a release"),
        (lambda m: m.pop("files"), "does not hold what a release's does"),
        (lambda m: m.update(files=[]), "does not hold what a release's does"),
        (lambda m: m["plan"].pop("domain"), "it says of the plan's 'domain' something other than release.plan"),
        (lambda m: m["plan"].update(domain={"attributes": [3]}), "it says of the plan's 'domain' something other"),
        (lambda m: m["plan"].update(kinds=[]), "it says of the plan's 'kinds' something other than release.plan"),
        (lambda m: m["plan"].update(more=1), "it says of the plan's 'more' something other than release.plan"),
        (lambda m: m.update(plan=None), "it does not say what the plan is"),
        (lambda m: m.update(noise=[]), "it does not say what the noise was"),
        (lambda m: m["noise"].update(seed=1), "it does not say what the noise was"),
        (lambda m: m["tables"].update(profile="nobody's"), "does not hold what a release's does"),
        (lambda m: m["tables"].update(profile=["acs"]), "does not hold what a release's does"),
    ],
)
def test_another_manifest_is_refused(folder, change, reason):
    forge(folder, change)
    with pytest.raises(rp.errors.FileFormatError, match=reason) as caught:
        load_tables(folder)
    assert "manifest.json" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.clear(),
        lambda m: m["tables"].update(attributes=7),
        lambda m: m["tables"]["attributes"][0].update(name="nobody"),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(kind_number=99),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(kind_number="0"),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(in_names=["a"]),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(in_names="other"),
    ],
)
def test_other_metadata_are_refused_though_their_hash_is_right(folder, change):
    forge(folder, change, "metadata.json")
    with pytest.raises(rp.errors.FileFormatError):
        load_tables(folder)


def forge_index(folder, change):
    with open(folder / "index.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with open(folder / "index.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    rehash(folder, "index.csv")


@pytest.mark.parametrize(
    "file", ["../secret.csv", "tables/../../secret.csv", "/etc/passwd", "tables/x/y.csv", "secret"]
)
def test_no_path_leads_out_of_the_folder(folder, file):
    (folder.parent / "secret.csv").write_text("estimate\n1\n")
    digest = hashlib.sha256(b"estimate\n1\n").hexdigest()
    forge_index(folder, lambda rows: rows[0].update(file=file, sha256=digest))
    with pytest.raises(
        rp.errors.FileFormatError, match=r"index\.csv names other tables or files than release\.plan has"
    ):
        load_tables(folder)


def test_an_index_of_other_tables_or_columns_is_refused(folder):
    forge_index(folder, lambda rows: rows[0].update(name="nobody"))
    with pytest.raises(
        rp.errors.FileFormatError, match=r"index\.csv names other tables or files than release\.plan has"
    ):
        load_tables(folder)
    (folder / "index.csv").write_text("a\n1\n")
    rehash(folder, "index.csv")
    with pytest.raises(rp.errors.FileFormatError, match="does not hold what a release's does"):
        load_tables(folder)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("damage", ["another table", "fewer rows", "more rows", "noise", "nothing"])
def test_a_file_that_is_another_table_is_refused_though_its_hash_is_right(saved, tmp_path, file_format, damage):
    folder = Path(shutil.copytree(saved / f"{file_format}-gls", tmp_path / "copy"))
    path = folder / "tables" / f"b.{file_format}"
    other = {"another table": "yes", "fewer rows": "_total", "more rows": "a.b"}.get(damage)
    if other is not None:
        path.write_bytes((folder / "tables" / f"{other}.{file_format}").read_bytes())
    else:
        path.write_bytes(np.random.default_rng(1).bytes(2000) if damage == "noise" else b"")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()

    def change(rows):
        (row,) = (row for row in rows if row["name"] == "b")
        row.update(sha256=digest)

    forge_index(folder, change)
    with pytest.raises(
        rp.errors.FileFormatError, match=rf"tables/b\.{file_format} is not the table that the index says it is"
    ):
        load_tables(folder)["b"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_rows_in_another_order_are_refused_though_their_hash_is_right(saved, tmp_path, file_format):
    import pyarrow as pa

    from residualplanner.publish.files import csv, parquet, workbook

    folder = Path(shutil.copytree(saved / f"{file_format}-default", tmp_path / "copy"))
    turned = pa.Table.from_pandas(load_tables(folder).numbers.frame("b").iloc[::-1], preserve_index=False)
    write = {"parquet": parquet.write, "csv": csv.write, "xlsx": lambda table: workbook.write(table, [])}[file_format]
    path = folder / "tables" / f"b.{file_format}"
    path.write_bytes(write(turned))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forge_index(folder, lambda rows: next(row for row in rows if row["name"] == "b").update(sha256=digest))
    with pytest.raises(
        rp.errors.FileFormatError, match=rf"tables/b\.{file_format} is not the table that the index says it is"
    ):
        load_tables(folder)["b"]


def test_a_folder_of_cells_in_another_number_is_refused(folder):
    forge_index(folder, lambda rows: rows[1].update(cells="4"))
    with pytest.raises(
        rp.errors.FileFormatError, match=r"index\.csv names other tables or files than release\.plan has"
    ):
        load_tables(folder)


def test_the_plan_beside_the_tables_is_compared_and_checked(folder):
    other = select(marginals(DOMAIN, up_to=2), budget=zcdp(0.5))
    (folder / "release.plan").unlink()
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.plan is missing"):
        load_tables(folder)
    other.save(folder / "release.plan")
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.plan was altered"):
        load_tables(folder)
    rehash(folder, "release.plan")
    with pytest.raises(
        rp.errors.FileFormatError, match=r"it says of the plan's 'sha256' something other than release\.plan beside"
    ):
        load_tables(folder)
    (folder / "release.plan").write_bytes(b"nothing")
    rehash(folder, "release.plan")
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.plan: .*this is not a residualplanner file"):
        load_tables(folder)


def test_a_parquet_file_of_very_many_rows_in_few_bytes_is_refused_before_it_is_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from residualplanner.publish.files.reading import read_columns

    rows = 20_000_000
    pq.write_table(pa.table({"x": pa.array(np.zeros(rows))}), tmp_path / "bomb.parquet", compression="SNAPPY")
    content = (tmp_path / "bomb.parquet").read_bytes()
    assert len(content) < 100_000
    before = pa.total_allocated_bytes()
    with pytest.raises(rp.errors.FileFormatError, match="is not the table that the index says it is"):
        read_columns(content, Path("bomb.parquet"), {"x": "double"}, rows)
    assert pa.total_allocated_bytes() - before < 2**20


def test_long_texts_that_repeat_in_a_parquet_file_are_refused_before_they_are_written_out():
    import pyarrow as pa

    from residualplanner.publish.files import parquet
    from residualplanner.publish.files.reading import read_columns

    rows = 100_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["a" * 100_000]))
    content = parquet.write(pa.table({"label": column, "x": pa.array(np.arange(float(rows)))})).to_pybytes()
    with pytest.raises(rp.errors.FileFormatError, match="is not the table that the index says it is"):
        read_columns(content, Path("bomb.parquet"), {"label": "string", "x": "double"}, rows)


def test_a_workbook_that_grows_a_thousandfold_is_refused_before_it_is_unpacked():
    import io
    import zipfile

    from residualplanner.publish.files.reading import read_columns

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 2**26)
    with pytest.raises(rp.errors.FileFormatError, match="is not the table that the index says it is"):
        read_columns(stream.getvalue(), Path("bomb.xlsx"), {"x": "double"}, 1)


def test_what_is_no_release_is_refused(tmp_path):
    with pytest.raises(rp.errors.FileFormatError, match=r"has no manifest\.json; name the folder of a release"):
        load_tables(tmp_path)
    for content in (b"{", b"\xff", b"[]", b'{"format": 1, "format": 2}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(rp.errors.FileFormatError, match=r"manifest\.json"):
            load_tables(tmp_path)


def test_without_openpyxl_the_extra_is_named(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[report\]'"):
        load_tables(saved / "xlsx-acs")["b"]

"""A folder read back holds the numbers that were saved, bit for bit, or is refused with the name of a file."""

import hashlib
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release, forge_hash, forge_rows
from residualplanner.publish import files

FORMATS, ABOUT = ("parquet", "csv", "xlsx"), rp.publish.Publication()


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", ["parquet-default", "csv-default", "xlsx-default", "csv-acs", "parquet-gls"])
def test_every_format_and_profile_gives_back_the_frames_and_bits_that_were_saved(rich, home, name):
    tables, profile = rp.load_tables(home / name), name.partition("-")[2]
    level, estimate = (0.9, "E") if profile == "acs" else (0.95, "estimate")
    for query, table in rich.items():
        frame, expected, found = tables.numbers.frame(query), table.to_frame(profile=profile), tables[query]
        pd.testing.assert_frame_equal(frame, expected, rtol=1e-13)
        assert frame[estimate].tolist() == table.estimate.ravel().tolist()
        assert (found.query, found.estimate.tolist()) == (table.query, table.estimate.tolist())
        assert not found.estimate.flags.writeable
        pd.testing.assert_frame_equal(found.to_frame(profile=profile), expected, check_exact=True)
    assert list(tables) == list(rich)
    assert (len(tables), tables.numbers.profile) == (len(rich), profile)
    assert tables.numbers.metadata["tables"]["conf_level"] == level
    errors = rich.plan.errors(level).astype(tables.numbers.errors.dtypes)
    pd.testing.assert_frame_equal(tables.numbers.errors, errors, check_exact=True)


def test_queries_that_were_not_saved_are_not_there(home):
    tables = rp.load_tables(home / "parquet-default")
    for query in (("a", "b", "yes"), {"yes": rp.Prefix()}, {"a": rp.Custom([[1, 1, 1], [5, 0, 1]])}):
        assert query not in tables
        assert tables.get(query) is None
        for look_up in (tables.__getitem__, tables.numbers.frame):
            with pytest.raises(rp.errors.WorkloadError, match=r"parquet-default has no table for \("):
                look_up(query)
    assert ("nobody",) not in tables
    with pytest.raises(rp.errors.DomainError):
        tables["nobody"]


ODD = ["=1+1", "001", "1e5", "NA", "nan", "TRUE", "", " ", '"', '""', "a,b", "\n", "\r\n", "\r", "\t", "'"]
ODD += ["_x0041_", "\x00", "\ufeff"]
texts = st.text(st.characters(codec="utf-8", exclude_characters="\ufffe\uffff"), max_size=6) | st.sampled_from(ODD)


@given(
    name=texts.filter(lambda text: text and not text.startswith("<r>") and text not in ("E", "M")),
    labels=st.lists(texts.filter(lambda text: not text.startswith("<r>")), min_size=2, max_size=6, unique=True),
    seed=st.integers(0, 99),
)
@pytest.mark.slow
@example(name="=A1", labels=ODD, seed=0)
@settings(max_examples=6)
def test_any_text_and_any_number_survive_every_format(name, labels, seed):
    domain = rp.Domain({name: labels})
    release = any_release(rp.select(rp.marginals(domain, up_to=1), budget=rp.zcdp(0.5)), seed)
    expected = release[name,].to_frame(profile="acs")
    with TemporaryDirectory() as folder:
        for file_format in FORMATS:
            release.save(Path(folder) / file_format, file_format, profile="acs")
            found = rp.load_tables(Path(folder) / file_format).numbers.frame((name,))
            assert found.columns.tolist() == [name, "E", "M"]
            assert found[name].tolist() == labels
            assert found["E"].tolist() == expected["E"].tolist()
            np.testing.assert_allclose(found["M"], expected["M"], rtol=1e-14)


@given(scale=st.floats(-300, 300), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_numbers_of_any_size_keep_every_bit_in_a_workbook(scale, seed):
    values = np.random.default_rng(seed).normal(size=5) * 10.0**scale
    words = files.formats.TableWords("", [], [], {}, rp.publish.Publication())
    content = files.formats.FORMATS["xlsx"].write(pa.table({"x": values}), words)
    found = files.workbook.read(content, Path("x.xlsx"), {"x": "double"}, 5)
    assert found["x"] == values.tolist()


@pytest.fixture
def folder(home, tmp_path):
    """A copy to damage."""
    return Path(shutil.copytree(home / "csv-default", tmp_path / "copy"))


@pytest.mark.parametrize("change", ["was altered", "is missing"])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("index.csv", rp.load_tables),
        ("metadata.json", rp.load_tables),
        ("release.plan", rp.load_tables),
        ("errors.csv", lambda folder: rp.load_tables(folder).numbers.errors),
        ("tables/b.csv", lambda folder: rp.load_tables(folder)["b"]),
        ("tables/b.csv", lambda folder: rp.load_tables(folder).get("b")),
    ],
)
def test_a_file_that_was_altered_or_is_missing_is_refused_when_it_is_read(folder, name, read, change):
    path = folder / name
    path.write_bytes(path.read_bytes() + b"\n") if change == "was altered" else path.unlink()
    if read is not rp.load_tables:
        assert rp.load_tables(folder)["yes"].estimate.shape == (2,)
    with pytest.raises(rp.errors.FileFormatError, match=rf"{name} {change}"):
        read(folder)


def forge(folder, change, name="manifest.json"):
    """Change a JSON file, and the hash that the manifest has of it."""
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_text(json.dumps(value))
    if name != "manifest.json":
        forge_hash(folder, name)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda m: m.update(version=2, package_versions={"residualplanner": "2.0.0"}),
            r"written by a newer version \(format 2, this reads 1\); update the package residualplanner",
        ),
        (
            lambda m: m.update(version=8, package_versions={"residualplanner": "0.1.0"}),
            "format 8 was written by version 0.1.0, which was before 1.0, .*; read it with the version that made it",
        ),
        (lambda m: m.update(version="1", package_versions=3), "format 1 was written by a version before 1.0"),
        (lambda m: m.update(format="residualplanner/plan"), "is not the manifest of a release"),
        (lambda m: m.pop("files"), "does not hold what a release's does"),
        (lambda m: m["files"].update({"index.csv": 3}), "index.csv was altered"),
        (lambda m: m["plan"].pop("domain"), "it says of the plan's 'domain' something other than release.plan"),
        (
            lambda m: m["plan"].update(pcost="nothing"),
            "it says of the plan's 'pcost' something other than release.plan",
        ),
        (lambda m: m["plan"].update(more=1), "it says of the plan's 'more' something other than release.plan"),
        (lambda m: m.update(plan=[]), "it does not say what the plan is"),
        (lambda m: m.update(noise=None), "does not hold what a release's does"),
        (lambda m: m["noise"].update(seed=1), "it does not say what the noise was"),
        (lambda m: m["noise"].update(people={"person": "id", "keep": 3, "order": None}), "what it says of the noise"),
        (lambda m: m["tables"].update(profile=["acs"]), "does not hold what a release's does"),
        (lambda m: m["tables"].update(format="jsonl"), "does not hold what a release's does"),
    ],
)
def test_another_manifest_is_refused(folder, change, reason):
    forge(folder, change)
    with pytest.raises(rp.errors.FileFormatError, match=reason):
        rp.load_tables(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.clear(),
        lambda m: m["tables"].update(attributes=7),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(kind_number=99),
        lambda m: m["tables"]["attributes"][0]["kinds"][0].update(in_names="other"),
    ],
)
def test_other_metadata_are_refused_though_their_hash_is_right(folder, change):
    forge(folder, change, "metadata.json")
    with pytest.raises(rp.errors.FileFormatError):
        rp.load_tables(folder)


def forge_index(folder, name, /, **change):
    """Let the index say something else of a table."""
    forge_rows(folder / "index.csv", lambda rows: next(row for row in rows if row["name"] == name).update(change))


@pytest.mark.parametrize(
    "change",
    [
        *({"file": file} for file in ("../secret.csv", "tables/../../secret.csv", "/etc/passwd", "tables/x/y.csv")),
        {"name": "nobody"},
        {"cells": "4"},
    ],
    ids=str,
)
def test_an_index_of_other_tables_or_cells_is_refused_and_no_path_leads_out_of_the_folder(folder, change):
    (folder.parent / "secret.csv").write_text("estimate\n1\n")
    digest = hashlib.sha256(b"estimate\n1\n").hexdigest()
    forge_index(folder, "b", **{"sha256": digest} | change)
    with pytest.raises(rp.errors.FileFormatError, match=r"index\.csv names other tables or files than release\.plan"):
        rp.load_tables(folder)


def test_an_index_of_other_columns_is_refused(folder):
    (folder / "index.csv").write_text("a\n1\n")
    forge_hash(folder, "index.csv")
    with pytest.raises(rp.errors.FileFormatError, match="does not hold what a release's does"):
        rp.load_tables(folder)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("damage", ["yes", "_total", "a.b", "noise", "nothing", "rows turned"])
def test_a_file_that_is_another_table_is_refused_though_its_hash_is_right(home, tmp_path, file_format, damage):
    folder = Path(shutil.copytree(home / f"{file_format}-default", tmp_path / "copy"))
    path = folder / "tables" / f"b.{file_format}"
    if damage == "rows turned":
        frame = rp.load_tables(folder).numbers.frame("b")
        turned = pa.Table.from_pandas(frame.iloc[::-1], preserve_index=False)
        path.write_bytes(
            files.formats.FORMATS[file_format].write(turned, files.formats.TableWords("", [], [], {}, ABOUT))
        )
    elif damage == "noise":
        path.write_bytes(np.random.default_rng(1).bytes(2000))
    else:
        other = path.with_name(f"{damage}.{file_format}")  # of other labels, fewer rows, more rows
        path.write_bytes(b"" if damage == "nothing" else other.read_bytes())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    forge_index(folder, "b", sha256=digest)
    with pytest.raises(rp.errors.FileFormatError, match=rf"tables/b\.{file_format} is not the table that the index"):
        rp.load_tables(folder)["b"]


def test_another_plan_is_refused_though_its_hash_is_right(rich, folder):
    rp.select(rp.marginals(rich.plan.domain, up_to=2), budget=rp.zcdp(0.5)).save(folder / "another.plan")
    (folder / "another.plan").replace(folder / "release.plan")
    forge_hash(folder, "release.plan")
    with pytest.raises(rp.errors.FileFormatError, match="it says of the plan's 'sha256' something other than release"):
        rp.load_tables(folder)


def many_rows():
    """20 million rows of Parquet in few bytes."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array(np.zeros(20_000_000))}), stream, compression="SNAPPY")
    return stream.getvalue(), "bomb.parquet", {"x": "double"}, 20_000_000


def long_texts():
    """A long text that repeats."""
    rows = 100_000
    label = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["a" * 100_000]))
    content = files.parquet.write(pa.table({"label": label, "x": pa.array(np.arange(float(rows)))})).to_pybytes()
    return content, "bomb.parquet", {"label": "string", "x": "double"}, rows


def packed_sheet():
    """A workbook that grows a thousandfold."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 2**26)
    return stream.getvalue(), "bomb.xlsx", {"x": "double"}, 1


@pytest.mark.parametrize("bomb", [many_rows, long_texts, packed_sheet])
def test_a_file_that_grows_a_thousandfold_is_refused_before_it_is_unpacked(bomb):
    content, name, types, rows = bomb()
    before = pa.total_allocated_bytes()
    with pytest.raises(rp.errors.FileFormatError, match="is not the table that the index says it is"):
        files.formats.FORMATS[name.partition(".")[2]].read(content, Path(name), types, rows)
    assert bomb is long_texts or pa.total_allocated_bytes() - before < 2**20


def test_what_is_no_release_is_refused(tmp_path):
    with pytest.raises(rp.errors.FileFormatError, match=r"has no manifest\.json; name the folder of a release"):
        rp.load_tables(tmp_path)
    for content in (b"{", b"\xff", b"[]", b'{"format": 1, "format": 2}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(rp.errors.FileFormatError, match=r"manifest\.json"):
            rp.load_tables(tmp_path)


def test_without_openpyxl_the_extra_is_named(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[report\]'"):
        rp.load_tables(home / "xlsx-default")["b"]


def test_a_parquet_file_of_a_million_equal_rows_is_read():
    count, types = 2**20, dict.fromkeys(["estimate", "ci_low", "ci_high", "cv"], "integer")
    content = bytes(files.parquet.write(pa.table({name: np.zeros(count, dtype=np.int64) for name in types})))
    assert pq.read_metadata(io.BytesIO(content)).row_group(0).total_byte_size > 2**24 + 2 * len(content)
    assert len(files.parquet.read(content, "table.parquet", types, count)) == count


def test_a_workbook_is_opened_once_for_all_its_tables(tmp_path, monkeypatch):
    import openpyxl

    plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3, "c": 2}), up_to=2), budget=rp.pcost(1))
    release, opened, load = any_release(plan), [], openpyxl.load_workbook
    release.save(tmp_path / "out", "workbook")
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *given, **how: opened.append(1) or load(*given, **how))
    saved = rp.load_tables(tmp_path / "out")
    for query in plan.workload:
        np.testing.assert_array_equal(saved[query].estimate, release[query].estimate)
    assert len(opened) == 1

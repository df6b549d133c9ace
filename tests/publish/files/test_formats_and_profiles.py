"""What stands in the files, read by other libraries: text is text, numbers are whole, and metadata tell the truth."""

import csv
import itertools
import json
import math
import re
import sys
import zipfile
from urllib.parse import unquote

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import residualplanner as rp
from made_releases import any_release, index_of, rows_of_file
from small_pieces import contents

COLUMNS = {
    "default": ["estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"],
    "acs": ["E", "M"],
    "gls": ["query", "estimate", "std_dev"],
}


FORMATS = ("csv", "parquet", "xlsx")


def as_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture(params=["parquet-default", "csv-default", "xlsx-default", "csv-acs", "parquet-gls"])
def saved(request, home):
    return home / request.param, *request.param.split("-")


def test_other_libraries_read_every_label_as_text_and_every_number_to_the_last_bit(rich, saved):
    folder, _, profile = saved
    for row, table in zip(index_of(folder), rich.tables(), strict=True):
        head, *rows = rows_of_file(folder / row["file"])
        assert list(head) == [*table.names, *COLUMNS[profile]]
        assert len(rows) == table.estimate.size == int(row["cells"])
        places = [name for name, quantity in (("estimate", 0), ("E", 0)) if name in head]
        for found, labels, estimate in zip(
            rows, itertools.product(*table.labels), table.estimate.ravel().tolist(), strict=True
        ):
            assert [as_text(value) for value in found[: len(labels)]] == [as_text(label) for label in labels]
            assert float(found[head.index(places[0])]) == estimate


def test_a_workbook_has_no_formula_and_says_what_it_is(rich, home):
    path = home / "xlsx-default" / "tables" / "text~2C~20or~20so.xlsx"
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["table", "about"]
    kinds = [cell.data_type for (cell,) in book["table"].iter_rows(max_col=1, min_row=2)]
    assert kinds == ["s"] * rich.plan.domain["text, or so"].size
    with zipfile.ZipFile(path) as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist() if "sheet" in name)
    about = {row[0]: row[1] for row in book["about"].iter_rows(values_only=True) if row[0]}
    assert about["table"] == "text, or so"
    assert about["privacy"] == rich.measurement.noise.guarantee
    assert about["plan"].startswith("SHA-256 ")
    assert set(COLUMNS["default"]) <= set(about)


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_same_release_has_the_same_bytes(rich, tmp_path, file_format):
    few = any_release(rp.select(rp.Workload(rich.plan.domain, [("a", "yes")]), budget=rp.zcdp(1)))
    for name in ("first", "second"):
        few.save(tmp_path / name, file_format)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_parquet_files_hold_each_label_once_and_nothing_else_of_the_process(tmp_path):
    """PyArrow leaves room for every entry of a dictionary, and writes what lay there where entries repeat."""
    areas = pd.DataFrame({"county": [f"c{n:03}" for n in range(200)], "state": [f"s{n // 10:02}" for n in range(200)]})
    levels = rp.Hierarchy.from_frame(areas, ["state", "county"])
    domain = rp.Domain({"area": levels})
    release = any_release(rp.select(rp.Workload(domain, [{"area": levels}]), budget=rp.zcdp(1)))
    written = set()
    for number in range(20):
        release.save(tmp_path / str(number), "parquet")
        kept = [pa.array([f"qx-{number}-{each}" for each in range(300)])]
        kept.clear()
        (file,) = (tmp_path / str(number) / "tables").glob("*.parquet")
        written.add(file.read_bytes())
    assert len(written) == 1
    assert b"qx-" not in written.pop()


def test_the_sidecar_says_what_the_columns_hold(rich, saved):
    folder, file_format, profile = saved
    manifest, metadata = (json.loads((folder / name).read_text()) for name in ("manifest.json", "metadata.json"))
    level = 0.9 if profile == "acs" else 0.95
    stated = {"count": len(rich), "format": file_format, "profile": profile, "conf_level": level}
    assert (manifest["format"], manifest["version"], manifest["tables"]) == ("residualplanner/release", 1, stated)
    about = metadata["tables"]
    assert [column["name"] for column in about["columns"]] == COLUMNS[profile]
    assert {column["unit"] for column in about["columns"] if column["name"] in ("estimate", "E", "M")} == {"counts"}
    names = {kind["in_names"]: kind for attribute in about["attributes"] for kind in attribute["kinds"]}
    types = {name: names[name]["datatype"] for name in ("a@prefix", "id", "~5Fone", "yes")}
    assert types == {"a@prefix": "string", "id": "integer", "~5Fone": "integer", "yes": "boolean"}
    for row in index_of(folder):
        assert row["name"] == "_total" or all(part in names for part in row["name"].split("."))


READERS = {
    "string": lambda text: text,
    "integer": int,
    "boolean": {"true": True, "false": False}.__getitem__,
    "double": float,
}


@pytest.mark.parametrize("profile", COLUMNS)
def test_csv_on_the_web_describes_every_file_as_the_recommendation_asks(home, profile):
    """W3C "Metadata Vocabulary for Tabular Data", sections 5.3 to 5.6: contexts, URLs, names, titles, keys."""
    folder = home / f"csv-{profile}" / "tables"
    group = json.loads((folder / "csv-metadata.json").read_text())
    assert group["@context"] == ["http://www.w3.org/ns/csvw", {"@language": "en"}]
    assert group.keys() - {"@context", "tables"} == {"dc:title", "dc:description", "dc:identifier"}
    assert {unquote(table["url"]) for table in group["tables"]} == {
        path.name for path in folder.iterdir() if path.suffix == ".csv"
    }
    for table in group["tables"]:
        assert re.fullmatch(r"([A-Za-z0-9_.~-]|%[0-9A-F]{2})+", table["url"])
        head, *rows = rows_of_file(folder / unquote(table["url"]))
        columns = table["tableSchema"]["columns"]
        assert [column["titles"] for column in columns] == head
        names = [column["name"] for column in columns]
        assert len(set(names)) == len(names)
        for name in names:  # RFC 6570's varname, and no underscore in front, which the vocabulary keeps to itself
            assert re.fullmatch(r"([A-Za-z0-9]|%[0-9A-F]{2})([A-Za-z0-9_]|%[0-9A-F]{2})*", name)
        keys = table["tableSchema"].get("primaryKey", [])
        assert set(keys) <= set(names)
        places = [names.index(key) for key in keys]
        assert len({tuple(row[place] for place in places) for row in rows}) == len(rows)
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            read = [READERS[column["datatype"]](text) for text in values]
            assert len(read) == len(rows)
            if column.get("required"):
                assert not set(values) & set(column.get("null", [""]))


def test_the_files_for_least_squares_are_enough_to_rebuild_all_covariances(tmp_path):
    domain = rp.Domain({"a": 3, "b": 2, "c": 4})
    plan = rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp(0.5), loss="max")
    any_release(plan).save(tmp_path / "out", "csv", profile="gls")
    sizes = dict(zip("abc", domain.sizes, strict=True))
    with open(tmp_path / "out" / "noise.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    noise = {
        frozenset(row["query"].replace("(total)", "").split(" × ")) - {""}: float(row["noise_variance"]) for row in rows
    }

    def cells(names):
        values = itertools.product(*(range(sizes[name]) for name in names))
        return [dict(zip(names, each, strict=True)) for each in values]

    def covariance(x, y):
        return sum(
            noise[members]
            * math.prod((x[name] == y[name]) - 1 / sizes[name] for name in members)
            / math.prod(sizes[name] for cell in (x, y) for name in set(cell) - members)
            for members in noise
            if members <= set(x) & set(y)
        )

    whole = plan.covariance(("a", "b", "c"))
    for first, second in (("ab", "ab"), ("ab", "bc"), ("a", "abc"), ("", "c")):
        sums = [
            np.array([[all(big[n] == cell[n] for n in cell) for big in cells("abc")] for cell in cells(names)], float)
            for names in (first, second)
        ]
        found = [[covariance(x, y) for y in cells(second)] for x in cells(first)]
        np.testing.assert_allclose(found, sums[0] @ whole @ sums[1].T, atol=1e-10)
    files = json.loads((tmp_path / "out" / "manifest.json").read_text())["files"]
    assert {"noise.csv", "release.plan"} <= files.keys()


@pytest.mark.parametrize(
    ("attributes", "queries", "reason"),
    [
        ({"a": 2**20}, [("a",)], r"a has 1,048,576 cells; a sheet of Excel holds no more than 1,048,575"),
        ({"a": 2000, "b": 2000}, [("a",), ("b", "a")], r"the table of b, a has 4,000,000 cells"),
        ({"a": ["x", "y" * 20_000]}, [("a",)], r"'a' has a name or label of more than 16,383 letters"),
        ({"a": ["x", "\uffff"]}, [("a",)], r"'a' has a name or label that Excel's files cannot hold"),
        ({"a": ["x", "<r><t>y</t></r>"]}, [("a",)], r"'a' has a name or label that Excel's files cannot hold"),
    ],
)
def test_what_excel_cannot_hold_is_refused_before_anything_is_measured(attributes, queries, reason):
    workload = rp.Workload(rp.Domain(attributes), queries)
    with pytest.raises(rp.errors.WorkloadError, match=reason):
        rp.publish.require_exportable(workload, "xlsx")
    rp.publish.require_exportable(workload, "csv")


def test_without_xlsxwriter_the_extra_is_named_and_nothing_is_left(rich, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[report\]'") as caught:
        rich.save(tmp_path / "out", "xlsx")
    assert caught.value.extra == "report"
    assert not list(tmp_path.iterdir())

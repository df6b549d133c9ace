"""Comparisons that a release is saved with: in every format, read back, refused where altered, shown on the page."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from html_pages import read_page

DOMAIN = rp.Domain({"region": ["north", "south"], "ill": ["yes", "no"]})
RECORDS = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [3, 970, 60, 940], axis=0)


def released(seed):
    plan = rp.select(rp.marginals(DOMAIN, order=2), budget=rp.zcdp("0.01"))
    return rp.reconstruct(rp.measure(plan, RECORDS, noise="gaussian", seed=seed))


@pytest.fixture(scope="module")
def release():
    return released(1)


@pytest.fixture(scope="module")
def comparisons(release):
    ill = release[rp.Among(("region",), where={"ill": "yes"})]
    return {
        "ill-per-1000": rp.statistics.ratio(ill, release["region",], factor=1000),
        "without_end": rp.statistics.ratio(release["region",], ill),
        "Since": rp.statistics.change(release["region",], released(2)["region",], simultaneous=True),
        "less": rp.statistics.difference(release["region", "ill"], release["region",]),
        "ranks": rp.statistics.ranks(release["region", "ill"]),
    }


@pytest.mark.parametrize("make", [lambda release: release, rp.nonnegative], ids=["unbiased", "non-negative"])
@pytest.mark.parametrize("file_format", ["csv", "parquet", "xlsx", "workbook", "parts"])
def test_comparisons_are_in_every_format_and_are_read_back(release, comparisons, make, file_format, tmp_path):
    make(release).save(tmp_path / "out", file_format, comparisons=comparisons)
    numbers = rp.load_tables(tmp_path / "out").numbers
    assert list(numbers.described.comparisons) == list(comparisons)
    assert np.isinf(comparisons["without_end"].low).any()
    for name, each in comparisons.items():
        pd.testing.assert_frame_equal(numbers.comparison(name), each.to_frame(), check_exact=True)
        assert numbers.described.comparisons[name].title == each.title
    with pytest.raises(rp.errors.WorkloadError, match=r"no comparison 'rank'; it has \['ill-per-1000', "):
        numbers.comparison("rank")


def test_a_workbook_has_a_sheet_for_each_comparison_without_what_excel_cannot_hold(release, comparisons, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    release.save(tmp_path / "out", "workbook", comparisons=comparisons)
    book = openpyxl.load_workbook(tmp_path / "out" / "tables.xlsx")
    rows = [*book["comparison 2"].iter_rows(min_row=2, values_only=True)]
    ends = comparisons["without_end"].to_frame()[["low", "high"]].to_numpy()
    assert [[number is None for number in row[-2:]] for row in rows] == np.isinf(ends).tolist()
    listed = [row[:3] for row in book["index"].iter_rows(values_only=True)]
    assert ("comparison 5", "ranks of region × ill", "comparison") in listed


def test_the_page_of_a_folder_shows_its_comparisons(release, comparisons, tmp_path):
    release.save(tmp_path / "out", comparisons=comparisons)
    rp.publish.write_report(tmp_path / "out", tmp_path / "page.html")
    section = read_page(tmp_path / "page.html").one("section", id="comparisons").text
    assert all(f"{name}: {each.title}" in section for name, each in comparisons.items())
    assert f"{comparisons['less'].estimate[0, 0]:,.1f}" in section.replace("−", "-")
    assert "of another release" in section
    rp.publish.write_report(release, tmp_path / "other.html")
    assert 'id="comparisons"' not in (tmp_path / "other.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "a b", "../up", "a.csv", "ä", "a" * 81, 1])
def test_names_that_are_none_of_files_are_refused_before_anything_is_written(release, comparisons, name, tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match="and its file would be; use letters"):
        release.save(tmp_path / "out", comparisons={name: comparisons["ranks"]})
    assert not (tmp_path / "out").exists()


def test_what_is_no_comparison_is_refused(release, comparisons, tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match="give the result of difference, ratio, change or ranks"):
        release.save(tmp_path / "out", comparisons={"ill": comparisons["less"].to_frame()})
    with pytest.raises(rp.errors.WorkloadError, match="differ in case only"):
        release.save(tmp_path / "out", comparisons={"a": comparisons["less"], "A": comparisons["ranks"]})


def test_a_file_that_was_altered_is_refused(release, comparisons, tmp_path):
    release.save(tmp_path / "out", comparisons=comparisons)
    file = tmp_path / "out" / "comparison-less.csv"
    content = file.read_bytes()
    file.write_bytes(content.replace(b"north", b"south"))
    saved = rp.load_tables(tmp_path / "out").numbers
    with pytest.raises(rp.errors.FileFormatError, match=r"comparison-less\.csv was altered"):
        saved.comparison("less")
    for damage in (b"", b"\xff", content.replace(b'"region"', b'"Region"')):
        file.write_bytes(damage)
        saved.manifest["files"]["comparison-less.csv"] = hashlib.sha256(damage).hexdigest()
        with pytest.raises(rp.errors.FileFormatError, match=r"comparison-less\.csv is not the table"):
            saved.comparison("less")


@pytest.mark.parametrize(
    "stated",
    [
        {},
        None,
        [1],
        [{"name": "a"}],
        [{"name": "../a", "file": "comparison-../a.csv", "title": "", "columns": []}],
        [{"name": "a", "file": "../../a.csv", "title": "", "columns": []}],
        [{"name": "a", "file": "comparison-a.csv", "title": 1, "columns": []}],
        [{"name": "a", "file": "comparison-a.csv", "title": "", "columns": [{"name": "b"}]}],
        [
            {
                "name": "a",
                "file": "comparison-a.csv",
                "title": "",
                "columns": [{"name": "b", "datatype": "int", "unit": "", "meaning": ""}],
            }
        ],
    ],
)
def test_metadata_that_say_something_else_of_comparisons_are_refused(release, comparisons, stated, tmp_path):
    release.save(tmp_path / "out", comparisons=comparisons)
    path, index = tmp_path / "out" / "metadata.json", tmp_path / "out" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"comparisons": stated}))
    manifest = json.loads(index.read_text())
    manifest["files"]["metadata.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    index.write_text(json.dumps(manifest))
    with pytest.raises(rp.errors.FileFormatError, match="comparisons"):
        rp.load_tables(tmp_path / "out")

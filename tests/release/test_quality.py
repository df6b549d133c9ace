"""Coefficients of variation, what is said of estimates, and which are left out; who publishes tables."""

import json
import math

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from made_releases import any_release, exact_release, index_of

DOMAIN = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "sex": rp.Attribute("sex", labels={"1": "female", "2": "male"})})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp("0.5"))
#: Estimates that are some large and some small beside their standard errors of 1 to 2.
RELEASE = exact_release(PLAN, np.array([[100, 3], [1.25, 40], [0, 7]]))
QUALITY = rp.publish.Quality(reliable=0.5, usable=1.5)
PUBLICATION = rp.publish.Publication(title='Persons "2026" <&>', author="Büro", date="2026-11-22", contact="a@b.org")


def word(estimate, std_err, reliable, usable):
    if estimate == 0:
        return "unreliable"
    cv = std_err / abs(estimate)
    return "reliable" if cv < reliable else "use with caution" if cv < usable else "unreliable"


def test_every_estimate_is_graded_by_its_own_standard_error():
    seen = set()
    for query in RELEASE:
        frame = RELEASE[query].to_frame(quality=QUALITY)
        for row in frame.itertuples():
            assert row.cv == pytest.approx(row.std_err / abs(row.estimate))
            assert row.quality == word(row.estimate, row.std_err, 0.5, 1.5)
            seen.add(row.quality)
    assert seen == {"reliable", "use with caution", "unreliable"}


def test_what_is_suppressed_follows_from_published_numbers_alone():
    frame = RELEASE["age", "sex"].to_frame()
    hidden = RELEASE["age", "sex"].to_frame(quality=rp.publish.Quality(reliable=0.5, usable=0.9, suppress=True))
    expected = frame["std_err"] / frame["estimate"].abs() >= 0.9
    assert 0 < expected.sum() < len(frame)
    for name in ("estimate", "ci_low", "ci_high", "cv"):
        assert hidden[name].isna().tolist() == expected.tolist()
    assert hidden["std_err"].tolist() == frame["std_err"].tolist()
    assert hidden.loc[~expected, "estimate"].tolist() == frame.loc[~expected, "estimate"].tolist()


@pytest.mark.parametrize(
    "options",
    [{"reliable": 0}, {"reliable": math.nan}, {"usable": True}, {"usable": "0.3"}, {"reliable": 0.5}, {"suppress": 1}],
)
def test_limits_that_are_none_are_refused(options):
    with pytest.raises(rp.errors.WorkloadError, match=r"must be a positive number|must not be above|must be True or"):
        rp.publish.Quality(**options)


CASES = [("parquet", "default"), ("csv", "acs"), ("xlsx", "gls"), ("workbook", "default")]


@pytest.mark.slow
@pytest.mark.parametrize(("file_format", "profile"), CASES)
def test_graded_tables_are_read_back_with_what_is_left_out(tmp_path, file_format, profile):
    quality = rp.publish.Quality(reliable=0.5, usable=0.9, suppress=True)
    for name, release in (("unbiased", RELEASE), ("rounded", rp.rounded(rp.nonnegative(RELEASE), base=3))):
        release.save(tmp_path / name, file_format, profile=profile, quality=quality, publication=PUBLICATION)
        loaded, gone = rp.load_tables(tmp_path / name), 0
        assert (loaded.numbers.quality, loaded.numbers.publication, loaded.product) == (
            quality,
            PUBLICATION,
            release.product,
        )
        for query in release:
            frame, table = loaded.numbers.frame(query), release[query]
            is_gone = [
                word(estimate, std_err, 0.5, 0.9) == "unreliable"
                for estimate, std_err in zip(table.estimate.ravel(), table.std_err.ravel(), strict=True)
            ]
            assert np.isnan(loaded[query].estimate.ravel()).tolist() == is_gone
            kept = ~np.array(is_gone)
            assert (loaded[query].estimate.ravel()[kept] == table.estimate.ravel()[kept]).all()
            assert (frame["quality"] == "unreliable").tolist() == is_gone
            gone += sum(is_gone)
        assert gone


def test_an_altered_statement_of_quality_is_refused(tmp_path):
    RELEASE.save(tmp_path / "out", quality=QUALITY)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    for forged in ({"reliable": 0.5}, {"reliable": 0.5, "usable": 1.5, "suppress": True}, 7):
        manifest["tables"]["quality"] = forged
        path.write_text(json.dumps(manifest))
        with pytest.raises(rp.errors.FileFormatError):
            rp.load_tables(tmp_path / "out")


def test_grades_have_columns_that_no_attribute_may_have():
    workload = rp.marginals(rp.Domain({"cv": 2}), order=1)
    rp.publish.require_exportable(workload, "csv")
    with pytest.raises(rp.errors.WorkloadError, match=r"attribute 'cv' has the name of a column"):
        rp.publish.require_exportable(workload, "csv", quality=QUALITY)


def test_parts_have_no_grades_and_many_graded_tables_are_parquet(tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match="quality= is for other formats"):
        RELEASE.save(tmp_path / "out", "parts", quality=QUALITY)
    assert not (tmp_path / "out").exists()


def test_a_publication_stands_in_the_metadata_of_every_format(tmp_path):
    for file_format in ("csv", "xlsx", "parts", "parquet"):
        RELEASE.save(tmp_path / file_format, file_format, publication=PUBLICATION)
        metadata = json.loads((tmp_path / file_format / "metadata.json").read_text())
        assert metadata["publication"] == PUBLICATION.to_json()
        assert rp.load_tables(tmp_path / file_format).numbers.publication == PUBLICATION
    about = openpyxl.load_workbook(tmp_path / "xlsx" / "tables" / "sex.xlsx")["about"]
    rows = [[cell.value for cell in row[:2]] for row in about.iter_rows(max_row=2)]
    assert rows == [["title", PUBLICATION.title], ["author", "Büro"]]
    csvw = json.loads((tmp_path / "csv" / "tables" / "csv-metadata.json").read_text())
    assert (csvw["dc:title"], csvw["dc:creator"], csvw["dc:date"]) == (PUBLICATION.title, "Büro", "2026-11-22")
    schema = pq.read_schema(tmp_path / "parquet" / "tables" / "age.sex.parquet")
    about = {name.decode(): text.decode() for name, text in schema.metadata.items()}
    expected = {"title": PUBLICATION.title, "author": "Büro", "table": "age × sex", "privacy": RELEASE.noise.guarantee}
    assert expected.items() <= about.items()
    assert schema.field("estimate").metadata[b"unit"] == b"counts"
    assert b"standard error" in schema.field("std_err").metadata[b"description"]


@pytest.mark.parametrize("options", [{"title": 7}, {"author": "\ud800"}, {"note": "x" * 10_001}])
def test_publications_are_strings_that_can_be_published(options):
    with pytest.raises(rp.errors.DomainError, match="of a publication must be"):
        rp.publish.Publication(**options)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """All tables in one workbook, with the rows of the index beside it."""
    folder = tmp_path_factory.mktemp("book") / "out"
    about = rp.publish.Publication(title="A & B", author="Büro")
    RELEASE.save(folder, "workbook", quality=rp.publish.Quality(), publication=about)
    return openpyxl.load_workbook(folder / "tables.xlsx"), index_of(folder)


def test_one_workbook_has_a_sheet_a_table_an_index_filters_and_number_formats(book):
    book, rows = book
    assert book.sheetnames == ["index", "about", "1 _total", "2 age", "3 sex", "4 age.sex"]
    assert [row["sheet"] for row in rows] == book.sheetnames[2:]
    index = [[cell.value for cell in row] for row in book["index"].iter_rows()]
    assert index[0] == ["sheet", "query", "kinds", "cells"]
    assert index[4] == ["4 age.sex", "age × sex", "identity × identity", 6]
    assert book["index"]["A5"].hyperlink.location == "'4 age.sex'!A1"
    sheet = book["4 age.sex"]
    heads = [cell.value for cell in sheet[1]]
    assert heads[:4] == ["age", "sex", "sex_meaning", "estimate"]
    assert sheet.auto_filter.ref == f"A1:{sheet.cell(1, len(heads)).column_letter}7"
    assert sheet.freeze_panes == "A2"
    formats = {head: sheet.cell(2, column).number_format for column, head in enumerate(heads, 1)}
    assert (formats["estimate"], formats["cv"], formats["sex"]) == ("#,##0.0", "0.0%", "General")


def test_sheets_of_long_names_have_31_letters_and_stay_different(tmp_path):
    names = ["the same beginning of both names " + letter for letter in "ab"]
    plan = rp.select(rp.marginals(rp.Domain(dict.fromkeys(names, 2)), up_to=1), budget=rp.zcdp(1))
    release = any_release(plan)
    release.save(tmp_path / "out", "workbook")
    loaded = rp.load_tables(tmp_path / "out")
    for query in release:
        assert (loaded[query].estimate == release[query].estimate).all()


def test_too_many_tables_for_one_workbook_are_refused_before_anything_is_measured():
    workload = rp.marginals(rp.Domain({f"a{number}": 2 for number in range(201)}), order=1)
    with pytest.raises(rp.errors.WorkloadError, match="201 tables are too many for one workbook, which holds"):
        rp.publish.require_exportable(workload, "workbook")
    rp.publish.require_exportable(workload, "xlsx")
    with pytest.raises(rp.errors.WorkloadError, match="a sheet of Excel holds no more than 1,048,575"):
        rp.publish.require_exportable(rp.marginals(rp.Domain({"a": 2**20}), order=1), "workbook")


def test_tables_rounded_to_a_base_are_multiples_that_add_up(tmp_path):
    tables = rp.rounded(RELEASE, base=5)
    for query in tables:
        assert (tables[query].estimate % 5 == 0).all()
        assert np.abs(tables[query].estimate - RELEASE[query].estimate).max() < 10
    both = tables["age", "sex"].estimate
    for axis, name in enumerate(("age", "sex")):
        assert (both.sum(axis=1 - axis) == tables[name].estimate).all()
    tables.save(tmp_path / "out", "csv")
    assert rp.load_tables(tmp_path / "out").product == tables.product
    assert tables.product.mark == "rounded to multiples of 5 that add up; estimates may be biased"


@pytest.mark.parametrize("base", [0, -5, 2.5, True, "5", 10**9 + 1])
def test_a_base_that_is_no_positive_integer_is_refused(base):
    with pytest.raises(rp.errors.ArgumentError, match="base must be an integer from 1"):
        rp.rounded(RELEASE, base=base)

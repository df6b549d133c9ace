"""Means and quantiles in the files of a release: the numbers of `means` and `quantiles`, with labels and units."""

import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest

import residualplanner as rp

JOBS = rp.Attribute("job", labels={"a": "Clerk", "b": "Nurse", "c": "Nobody"})
PAY = rp.Attribute("pay", numeric=rp.Numeric(0, 40, bins=[10, 20]), about=rp.About(unit="dollars"))
MEANS, MEDIANS = {"pay": rp.Mean(), "job": rp.Identity()}, {"job": rp.Identity(), "pay": rp.Quantiles((0.25, 0.5))}
NAMES = ["mean", "std_err", "low", "high", "count", "count_std_err", "sum", "sum_std_err", "too_noisy"]


def plan_of(queries, domain=None):
    return rp.select(rp.Workload(domain or rp.Domain({"job": JOBS, "pay": PAY}), queries), budget=rp.zcdp(0.5))


@pytest.fixture(scope="module")
def release():
    chance = np.random.default_rng(2)
    people = pd.DataFrame({"job": chance.choice(["a", "b"], 300), "pay": chance.integers(0, 41, 300)})
    return rp.reconstruct(rp.measure(plan_of([MEANS, MEDIANS, ("job",)]), people, noise="gaussian", seed=8))


def frame_of(path):
    if path.suffix == ".csv":
        return pd.read_csv(path)
    if path.suffix == ".xlsx":
        return pd.read_excel(path)
    return pd.DataFrame(pq.read_table(path).to_pydict())


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_files_of_means_and_quantiles_have_a_row_for_each_group_and_probability_with_labels(release, ending, tmp_path):
    release.save(tmp_path / "out", ending, level=0.9)
    found = frame_of(tmp_path / "out" / "statistics" / f"pay@mean.job.{ending}")
    assert list(found) == ["job", "job_meaning", *NAMES]
    assert found["job_meaning"].tolist() == ["Clerk", "Nurse", "Nobody"]
    expected = rp.statistics.means(release, "pay", ["job"], level=0.9).to_frame()
    pd.testing.assert_frame_equal(found[["job", *NAMES]], expected, check_dtype=False, rtol=1e-12)
    found = frame_of(tmp_path / "out" / "statistics" / f"job.pay@quantiles.{ending}")
    assert found["probability"].tolist() == [0.25, 0.5] * 3
    expected = rp.statistics.quantiles(release, "pay", (0.25, 0.5), ["job"], level=0.9).to_frame()
    pd.testing.assert_frame_equal(found.drop(columns="job_meaning"), expected, check_dtype=False, rtol=1e-12)


def test_one_workbook_has_a_sheet_of_each_statistic_after_its_table(release, tmp_path):
    release.save(tmp_path / "out", "workbook")
    book = openpyxl.load_workbook(tmp_path / "out" / "tables.xlsx")
    assert [name for name in book.sheetnames if "statistics" in name] == ["2 statistics", "3 statistics"]
    assert [cell.value for cell in book["3 statistics"][1]][:3] == ["job", "job_meaning", "probability"]
    index = [[cell.value for cell in row[:2]] for row in book["index"].iter_rows(min_row=2)]
    assert [query for sheet, query in index if sheet == "3 statistics"] == ["job × pay"]
    assert [sheet for sheet, _ in index] == book.sheetnames[2:]
    about = {row[0].value: row[1].value for row in book["about"].iter_rows()}
    assert about["mean"] == "dollars"
    assert about["count"] == "counts"


def test_metadata_and_manifest_say_what_the_files_are(release, tmp_path):
    release.save(tmp_path / "out", "parquet")
    about = json.loads((tmp_path / "out" / "metadata.json").read_text())["statistics"]
    files = {"statistics/job.pay@quantiles.parquet", "statistics/pay@mean.job.parquet"}
    assert {each["file"] for each in about} == files
    assert files < set(json.loads((tmp_path / "out" / "manifest.json").read_text())["files"])
    units = {column["name"]: column["unit"] for each in about for column in each["columns"]}
    expected = {"mean": "dollars", "quantile": "dollars", "count": "counts", "too_noisy": ""}
    assert expected.items() <= units.items()
    field = pq.read_schema(tmp_path / "out" / "statistics" / "pay@mean.job.parquet").field("sum")
    assert field.metadata == {b"unit": b"dollars", b"description": b"unbiased estimate of the sum of the amounts"}


@pytest.fixture(scope="module")
def sparse():
    """A release of so few records that non-negative tables are others than the unbiased ones."""
    people = pd.DataFrame({"job": ["a", "b"] * 8, "pay": [10, 30] * 8})
    return rp.reconstruct(rp.measure(plan_of([MEANS, MEDIANS, ("job",)]), people, noise="gaussian", seed=5))


def test_beside_adjusted_tables_counts_and_sums_are_theirs_and_means_those_of_the_unbiased(sparse, tmp_path):
    tables = rp.nonnegative(sparse)
    tables.save(tmp_path / "out", "csv", with_unbiased=True)
    found = frame_of(tmp_path / "out" / "statistics" / "pay@mean.job.csv")
    rows = frame_of(tmp_path / "out" / "tables" / "pay@mean.job.csv")["estimate_nonneg"].to_numpy().reshape(3, 3)
    unbiased = rp.statistics.means(sparse, "pay", ["job"]).to_frame()
    assert list(found.columns[2:]) == [
        *("mean_unbiased", "std_err_unbiased", "low_unbiased", "high_unbiased", "count_nonneg", "count_unbiased"),
        *("count_std_err_unbiased", "sum_nonneg", "sum_unbiased", "sum_std_err_unbiased", "too_noisy_unbiased"),
    ]
    np.testing.assert_allclose(found["sum_nonneg"], 40 * rows[1], atol=1e-9)  # no pay is below 0 or above 40
    np.testing.assert_allclose(found["count_nonneg"], rows[0])
    assert (found["count_nonneg"] - unbiased["count"]).abs().max() > 0.01
    for name in ("mean", "std_err", "count", "count_std_err", "sum", "sum_std_err"):
        np.testing.assert_allclose(found[f"{name}_unbiased"], unbiased[name])
    for name in ("low", "high", "too_noisy"):
        np.testing.assert_allclose(found[f"{name}_unbiased"], unbiased[name])
    (about,) = json.loads((tmp_path / "out" / "metadata.json").read_text())["statistics"][:1]
    meanings = {column["name"]: column["meaning"] for column in about["columns"]}
    assert meanings["sum_nonneg"].startswith("estimate of the sum")
    assert meanings["sum_unbiased"].startswith("unbiased estimate of the sum")


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "workbook", "parts"])
def test_a_folder_that_is_read_back_has_its_statistics_as_they_were_published(sparse, ending, tmp_path):
    for made in (sparse, rp.nonnegative(sparse)):
        name = made.product.name
        made.save(tmp_path / name, ending, level=0.9)
        made.save(tmp_path / f"{name}-as-csv", "csv", level=0.9)
        saved = rp.load_tables(tmp_path / name)
        for query, stem in [(MEANS, "pay@mean.job"), (MEDIANS, "job.pay@quantiles")]:
            expected = frame_of(tmp_path / f"{name}-as-csv" / "statistics" / f"{stem}.csv")
            pd.testing.assert_frame_equal(saved.numbers.statistic(query), expected, check_dtype=False, rtol=1e-12)
        if made is sparse:
            again, first = (rp.statistics.means(each, "pay", ["job"]).to_frame() for each in (saved, made))
            pd.testing.assert_frame_equal(again, first)


def test_statistics_in_parts_are_numbered_as_their_tables_and_described(release, tmp_path):
    release.save(tmp_path / "out", "parts")
    rows = pq.read_table(tmp_path / "out" / "quantiles.parquet").to_pandas()
    number = list(release.plan.workload).index(next(query for query in release if "quantiles" in str(query).lower()))
    assert rows["table_id"].unique().tolist() == [number]
    assert rows["group_id"].tolist() == [0, 0, 1, 1, 2, 2]
    assert rows["probability"].tolist() == [0.25, 0.5] * 3
    about = json.loads((tmp_path / "out" / "metadata.json").read_text())["statistics"]
    assert [each["file"] for each in about] == ["means.parquet", "quantiles.parquet"]
    assert (about[0]["columns"][0]["name"], about[0]["columns"][0]["unit"]) == ("mean", "dollars")


def test_a_statistic_that_is_not_there_and_one_that_was_altered_are_refused(release, tmp_path):
    release.save(tmp_path / "out", "csv")
    saved = rp.load_tables(tmp_path / "out")
    with pytest.raises(rp.errors.WorkloadError, match="is for counts or sums; name a query for Mean"):
        saved.numbers.statistic("job")
    path = tmp_path / "out" / "statistics" / "pay@mean.job.csv"
    path.write_text(path.read_text().replace("Clerk", "Nurse"))
    with pytest.raises(rp.errors.FileFormatError, match=r"pay@mean\.job\.csv was altered"):
        saved.numbers.statistic(MEANS)


@pytest.mark.parametrize(("name", "kind"), [("count", rp.Mean()), ("probability", rp.Quantiles(0.5))])
def test_an_attribute_with_the_name_of_a_column_of_statistics_is_refused_before_records_are_read(name, kind, tmp_path):
    domain = rp.Domain({name: 2, "pay": PAY})
    plan = plan_of([{name: rp.Identity(), "pay": kind}], domain)
    release = rp.reconstruct(rp.measure(plan, pd.DataFrame({name: [0], "pay": [1]}), noise="gaussian", seed=1))
    with pytest.raises(rp.errors.WorkloadError, match=rf"attribute '{name}' has the name of a column"):
        release.save(tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_report_shows_means_and_quantiles_with_units(release, tmp_path):
    rp.publish.write_report(release, tmp_path / "page.html", level=0.9)
    rp.publish.write_report(release.plan, tmp_path / "plan.html")
    assert 'id="statistics"' not in (tmp_path / "plan.html").read_text()
    section = (tmp_path / "page.html").read_text().split('id="statistics"')[1].split("</section>")[0]
    for words in ("Mean pay (dollars) by job", "Quantiles of pay (dollars) by job", "a (Clerk)", "of level 0.9"):
        assert words in section
    found = rp.statistics.means(release, "pay", ["job"], level=0.9)
    assert found.sum_std_err.min() > 10  # so that two digits of it are no decimals
    assert f">{found.sum[0]:,.0f}<" in section

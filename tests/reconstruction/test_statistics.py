"""Means and quantiles in the files of a release: the numbers of `means` and `quantiles`, with labels and units."""

import json

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from residualplanner.errors import WorkloadError

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
def test_a_file_of_means_has_the_means_of_the_release_with_labels(release, ending, tmp_path):
    release.save(tmp_path / "out", ending, level=0.9)
    found = frame_of(tmp_path / "out" / "statistics" / f"pay@mean.job.{ending}")
    expected = rp.means(release, "pay", ["job"], level=0.9).to_pandas()
    assert list(found) == ["job", "job_meaning", *NAMES]
    assert found["job_meaning"].tolist() == ["Clerk", "Nurse", "Nobody"]
    pd.testing.assert_frame_equal(found[["job", *NAMES]], expected, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_a_file_of_quantiles_has_a_row_for_each_group_and_probability(release, ending, tmp_path):
    release.save(tmp_path / "out", ending)
    found = frame_of(tmp_path / "out" / "statistics" / f"job.pay@quantiles.{ending}")
    expected = rp.quantiles(release, "pay", (0.25, 0.5), ["job"]).to_pandas()
    assert found["probability"].tolist() == [0.25, 0.5] * 3
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


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "workbook", "parts"])
def test_a_folder_that_is_read_back_has_the_same_means(release, ending, tmp_path):
    release.save(tmp_path / "out", ending)
    saved = rp.load_tables(tmp_path / "out")
    pd.testing.assert_frame_equal(
        rp.means(saved, "pay", ["job"]).to_pandas(), rp.means(release, "pay", ["job"]).to_pandas()
    )


def test_metadata_and_manifest_say_what_the_files_are(release, tmp_path):
    release.save(tmp_path / "out", "parquet")
    about = json.loads((tmp_path / "out" / "metadata.json").read_text())["statistics"]
    files = {"statistics/job.pay@quantiles.parquet", "statistics/pay@mean.job.parquet"}
    assert {each["file"] for each in about} == files
    assert files < set(json.loads((tmp_path / "out" / "manifest.json").read_text())["files"])
    units = {column["name"]: column["unit"] for each in about for column in each["columns"]}
    assert (units["mean"], units["quantile"], units["count"], units["too_noisy"]) == (
        "dollars",
        "dollars",
        "counts",
        "",
    )
    field = pq.read_schema(tmp_path / "out" / "statistics" / "pay@mean.job.parquet").field("sum")
    assert field.metadata[b"unit"] == b"dollars"


def test_what_says_nothing_is_an_empty_cell(release, tmp_path):
    estimate = rp.means(release, "pay", ["job"]).estimate
    seeds = (seed for seed in range(50) if np.isnan(rp.means(of_seed(seed), "pay", ["job"]).estimate).any())
    chosen = of_seed(next(seeds))
    chosen.save(tmp_path / "out", "csv")
    lines = (tmp_path / "out" / "statistics" / "pay@mean.job.csv").read_text().splitlines()
    assert lines[3].startswith('"c","Nobody",,,0,40,-')
    assert estimate.shape == (3,)


def of_seed(seed):
    people = pd.DataFrame({"job": ["a", "b"] * 50, "pay": [10, 30] * 50})
    return rp.reconstruct(rp.measure(plan_of([MEANS]), people, noise="gaussian", seed=seed))


def test_tables_that_are_not_unbiased_have_no_files_of_statistics(release, tmp_path):
    rp.nonnegative(release).save(tmp_path / "out", "csv")
    assert not (tmp_path / "out" / "statistics").exists()
    assert "statistics" not in json.loads((tmp_path / "out" / "metadata.json").read_text())


def test_a_release_without_statistics_has_no_folder_of_them(tmp_path):
    people = pd.DataFrame({"job": ["a"], "pay": [1]})
    rp.reconstruct(rp.measure(plan_of([("job",)]), people, noise="gaussian", seed=1)).save(tmp_path / "out", "csv")
    assert not (tmp_path / "out" / "statistics").exists()
    assert "statistics" not in json.loads((tmp_path / "out" / "metadata.json").read_text())


@pytest.mark.parametrize(("name", "kind"), [("count", rp.Mean()), ("probability", rp.Quantiles(0.5))])
def test_an_attribute_with_the_name_of_a_column_of_statistics_is_refused_before_records_are_read(name, kind, tmp_path):
    domain = rp.Domain({name: 2, "pay": PAY})
    plan = plan_of([{name: rp.Identity(), "pay": kind}], domain)
    release = rp.reconstruct(rp.measure(plan, pd.DataFrame({name: [0], "pay": [1]}), noise="gaussian", seed=1))
    with pytest.raises(WorkloadError, match=rf"attribute '{name}' has the name of a column of the {kind.name}"):
        release.save(tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_report_shows_means_and_quantiles_with_units(release, tmp_path):
    rp.write_report(release, tmp_path / "page.html", level=0.9)
    section = (tmp_path / "page.html").read_text().split('id="statistics"')[1].split("</section>")[0]
    assert "mean pay (dollars) by job" in section
    assert "quantiles of pay (dollars) by job" in section
    assert "a (Clerk)" in section
    assert "of level 0.9" in section
    found = rp.means(release, "pay", ["job"], level=0.9)
    assert f"{found.estimate[0]:,.1f}" in section


@pytest.mark.slow
def test_reports_on_plans_and_on_other_numbers_have_no_means(release, tmp_path):
    rp.write_report(release.plan, tmp_path / "plan.html")
    rp.write_report(rp.nonnegative(release), tmp_path / "page.html")
    assert 'id="statistics"' not in (tmp_path / "plan.html").read_text() + (tmp_path / "page.html").read_text()

"""The parts of a report: fairness, targets, large workloads, pictures, bases by set, sums of amounts."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from html_pages import read_page
from made_releases import any_release
from random_plans import plan_by_set, sample_workload
from residualplanner.publish.report.figures import fairness_data, fairness_of, figures_of
from residualplanner.publish.report.page import page_of
from residualplanner.publish.report.subject import subject_of
from residualplanner.publish.report.tables import error_rows, page_tables, rows_json
from small_pieces import small_parts


def written(source, folder, **options):
    """The page of a report, and the data of its figure on fairness."""
    rp.publish.write_report(source, folder / "page.html", **options)
    return read_page(folder / "page.html"), pd.read_csv(folder / "page-figures" / "fairness.csv")


def weightings(data):
    return [name.removeprefix("std_err_") for name in data if name.startswith("std_err_")]


def spread(std_errs):
    return std_errs.max() / std_errs.min()


def test_the_other_weightings_are_plans_of_the_same_budget_that_do_best_at_their_own_loss(plan):
    plan = rp.select(plan.workload, budget=rp.zcdp("0.5"), bases="optimal")
    found = fairness_of(subject_of(plan, level=0.95))
    std_errs = {name: frame["std_err"].to_numpy() for name, frame in found.items()}
    assert list(std_errs) == ["plan", "equal", "sqrt"]
    expected = [np.sqrt(plan.variance(query).mean()) for query in plan.workload]
    np.testing.assert_allclose(std_errs["plan"], expected, rtol=1e-9)
    cells, weights = plan.workload.cells, plan.workload.weights
    for name, rule in (("plan", cells), ("equal", np.ones_like(cells)), ("sqrt", np.sqrt(cells))):
        losses = {other: float(weights * rule @ errors**2) for other, errors in std_errs.items()}
        assert min(losses, key=losses.get) == name
    assert spread(std_errs["equal"]) < spread(std_errs["sqrt"]) < spread(std_errs["plan"])


@pytest.mark.usefixtures("without_pictures")
def test_weightings_stand_beside_plans_with_other_losses_unless_they_cannot_be_planned(tmp_path):
    workload = rp.marginals(rp.Domain({"a": 3, "b": 40}), order=1)
    plan = rp.select(workload, budget=rp.privacy.gdp(1), loss="max")
    assert weightings(written(plan, tmp_path)[1]) == ["plan", "equal", "cells", "sqrt"]
    unused = rp.Workload(workload.domain, list(workload), weights=[1, 0])
    free = replace(plan, workload=unused, loss=rp.losses.DescribedLoss("other"), gap=float("inf"), status="given")
    for source in (free, BY_SET):  # no weighting with one basis is compared with bases by set
        page, data = written(source, tmp_path, replace=True)
        assert weightings(data) == ["plan"]
        assert "Other weightings were not planned here" in page.one("figure", id="fairness").text


@pytest.fixture
def _small_parts():
    with small_parts():
        yield


@pytest.fixture(scope="module")
def with_targets():
    """A plan that meets one of its two targets, which are for margins of 90%."""
    domain = rp.Domain({"age": 10, "sex": 2, "region": 30})
    targets = rp.losses.Targets({("age",): 4.0, ("sex",): 1000.0}, level=0.9)
    workload = rp.Workload(domain, [("age",), ("sex",), ("region",)])
    return replace(rp.select(workload, budget=rp.zcdp("0.01")), loss=targets)


@pytest.mark.usefixtures("without_pictures")
def test_targets_are_told_where_there_are_some(with_targets, plan_folder, tmp_path):
    rp.publish.write_report(with_targets, tmp_path / "report.html")
    page = read_page(tmp_path / "report.html")
    caption = page.one("figure", id="targets").one("figcaption").text
    assert "1 of 2 tables with a target meet it: the 90% margin of error of the worst cell" in caption
    assert "1 of 2" in page.one("dl", **{"class": "facts"}).text
    rows = page.one("table", id="errors").one("tbody").all("tr")
    assert [row.all("td")[-1].text for row in rows] == ["no", "yes", "–"]
    data = json.loads(page.one("script", id="data").text)["values"]
    assert data["target"] == [4.0, 1000.0, None]
    held = with_targets.errors()["max_std_err"].tolist()[:2]  # how many times as large errors may be, for other budgets
    rooms = [target / ((1.6448536 + 2**-18) * error) for target, error in zip((4.0, 1000.0), held, strict=True)]
    assert data["meets_target"] == [pytest.approx(rooms[0]), pytest.approx(rooms[1]), None]
    saved = pd.read_csv(tmp_path / "report-figures" / "targets.csv")
    assert saved["query"].tolist() == ["age", "sex"]  # the one that misses its target by most comes first
    worst = [float(np.sqrt(with_targets.variance((name,)).max())) for name in ("age", "sex")]
    assert saved["margin"].tolist() == pytest.approx((1.6448536 + 2**-18) * np.array(worst))
    assert (saved["margin"] <= saved["target"]).tolist() == saved["meets_target"].tolist()
    assert "Target" not in read_page(plan_folder / "report.html").one("table", id="errors").text  # it has none
    any_release(with_targets).save(tmp_path / "tables")
    rp.publish.write_report(tmp_path / "tables", tmp_path / "folder.html")
    assert pd.read_csv(tmp_path / "folder-figures" / "targets.csv").equals(saved)


def test_many_tables_make_a_page_of_bounded_size_in_bounded_time(many, many_report):
    path, seconds = many_report
    assert seconds < 30
    assert path.stat().st_size < 200 * len(many.workload) + 600_000
    for file in path.with_name("report-figures").glob("*.svg"):
        assert file.stat().st_size < 600_000
    assert len(read_page(path).one("table", id="errors").one("tbody").all("tr")) == 25
    assert len(pd.read_csv(path.with_name("report-figures") / "fairness.csv")) == len(many.workload) == 4526


def test_of_too_many_rows_the_worst_are_kept_in_few_bytes_each(many):
    subject = subject_of(many, level=0.95)
    rows = error_rows(subject, limit=1000)
    assert (rows.total, rows.count) == (4526, 1000)
    assert len(rows_json(rows)) < 100 * rows.count
    errors = subject.errors.sort_values("max_std_err")
    kept = set(rows.values["query"])
    assert set(errors["query"].iloc[-990:]) <= kept
    assert errors["query"].iloc[0] not in kept


def test_a_page_that_leaves_out_rows_says_so(plan, tmp_path):
    subject, figures = subject_of(plan, level=0.95), {"figures": (), "estimates": (), "maps": ()}
    figures["figures"] = tuple(figures_of(subject))
    page = page_of(subject, error_rows(subject, limit=4), page_tables(subject), figures, "beside")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    section = read_page(tmp_path / "page.html").one("section", id="error-table")
    assert f"holds the 4 least accurate of {len(plan.workload)} tables" in section.text
    assert section.all("a")[0].attributes["href"] == "./beside/errors.csv"


@pytest.mark.slow
@pytest.mark.usefixtures("_small_parts")
def test_a_folder_of_some_parts_is_reported_with_the_tables_that_it_has(tmp_path):
    release = any_release(
        rp.select(rp.marginals(rp.Domain({"a": 3, "b": 4, "c": 5, "d": 6}), up_to=3), budget=rp.zcdp(1))
    )
    last = len(release.layout) - 1
    release.save(tmp_path / "some", only=[last])
    orders = sorted({len(query) for query in release if release.part_of(query) == last})
    page, _ = written(tmp_path / "some", tmp_path)
    assert "a × b" in page.one("table", id="errors").text
    assert "Records" not in page.one("dl", **{"class": "facts"}).text
    tables = sorted(path.stem for path in (tmp_path / "page-figures").glob("table-*.csv"))
    assert tables == [f"table-{order}" for order in orders]


@pytest.mark.parametrize("sizes", [{"a": 1}, {"a": 2**40, "b": 2**40, "c": 3}])
def test_very_small_and_very_large_tables_have_reports(sizes, tmp_path):
    plan = rp.select(rp.marginals(rp.Domain(sizes), up_to=2), budget=rp.privacy.gdp("0.1"))
    rp.publish.write_report(plan, tmp_path / "report.html")
    data = json.loads(read_page(tmp_path / "report.html").one("script", id="data").text)
    assert data["values"]["cells"] == plan.workload.cells.tolist()


BY_SET = plan_by_set(sample_workload(), 1)


PAY = rp.Attribute("pay", numeric=rp.Numeric(0, 100_000, bins=[20_000], outside="clip"), about=rp.About(unit="EUR"))
TOTAL = {"sex": rp.Identity(), "pay": rp.Sum()}
SUMS = rp.select(rp.Workload(rp.Domain({"sex": ["F", "M"], "pay": PAY}), [("sex", "pay"), TOTAL]), budget=rp.pcost(1))


def test_a_page_shows_bins_and_no_error_of_a_sum_beside_errors_of_counts(tmp_path):
    rp.publish.write_report(SUMS, tmp_path / "page.html")
    page = " ".join(re.sub(r"<[^>]+>", "", (tmp_path / "page.html").read_text()).split())
    assert "[0, 20000), [20000, 100000]" in page
    assert "low end" not in page
    assert "standard error of a cell in counts; sums in units of the largest amount" in page
    assert "Of sums it is in units of the largest amount." in page
    largest = re.search(r"the largest is ([0-9.,]+) times the least", page)
    errors = fairness_data(SUMS)["std_err"]
    assert float(largest[1]) == round(errors.max() / errors.min(), 2)

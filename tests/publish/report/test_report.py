"""A report is one page that needs nothing else, says what the plan says, and trusts no text of its user's."""

import json
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import residualplanner as rp
from full_disks import files_of_at_most
from html_pages import read_page
from made_releases import any_release

NASTY = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '" onmouseover="alert(3)',
    "<!-- {{ 7 * 7 }} {% raw %} ]]>",
    '$\\frac{1}{2}$ \'style="fill: #0072b2" id="x" & 年齢 \u2028',
]


def written(source, folder, **options):
    rp.publish.write_report(source, folder / "report.html", **options)
    return read_page(folder / "report.html")


def data_of(page):
    return json.loads(page.one("script", id="data").text)


def names_of(data):
    return [data["join"].join(data["parts"][int(part)] for part in row.split(",")) for row in data["values"]["query"]]


def held(data, key):
    """The numbers of a column, which may be held as how many standard errors they are."""
    (column,) = [column for column in data["columns"] if column["key"] == key]
    if times := column.get("times"):
        return [times * error for error in data["values"]["std_err"]]
    return data["values"][key]


def half_a_digit(data, key):
    """Half of the last digit that a column shows."""
    (column,) = [column for column in data["columns"] if column["key"] == key]
    return 0.5001 * 10.0 ** -(column["decimals"] + 2 * (column["form"] == "percent"))


def test_the_numbers_of_the_page_are_those_of_the_plan(plan, plan_folder):
    page, errors = read_page(plan_folder / "report.html"), plan.errors(level=0.9)
    data = data_of(page)
    assert len(names_of(data)) == len(errors)
    assert names_of(data)[:4] == ["(total)", "age", "sex", "region"]
    assert "income (prefix)" in names_of(data)
    for key in ("order", "cells", "weight", "privacy_share", "std_err", "moe", "expected_abs_error"):
        assert held(data, key) == pytest.approx(errors[key].tolist(), abs=half_a_digit(data, key)), key
    table = page.one("table", id="errors")
    heads = [head.text for head in table.one("thead").all("th")]
    rows = table.one("tbody").all("tr")  # for readers without scripts
    std_errs = [float(row.all("td")[heads.index("Standard error") - 1].text) for row in rows]
    assert std_errs == pytest.approx(errors["std_err"].tolist(), rel=6e-3)
    worst = errors["moe"] / errors["std_err"] * errors["max_std_err"]
    assert held(data, "worst") == pytest.approx(worst.tolist(), abs=half_a_digit(data, "worst"))


def test_the_page_says_what_is_queried_and_what_it_costs(plan, plan_folder):
    page = read_page(plan_folder / "report.html")
    text = re.sub(r"\s+", " ", page.one("main").text)
    assert "0.5-zCDP" in page.one("header").text
    assert f"{len(plan.workload)} tables" in text
    assert "rho at most 0.5 under adding or removing one record" in text
    for delta in ("1e-6", "1e-10"):
        assert plan.budget.epsilon(delta) <= epsilon_told(page, delta) <= plan.budget.epsilon(delta) * 1.001
    assert plan.budget.statement in text
    assert "sum of variances, weights cells" in text
    headings = [heading.text for heading in page.all("h2")]
    assert headings[:4] == ["Another budget", "Workload", "Privacy", "Error of every table"]


def epsilon_told(page, delta):
    (row,) = [row for row in page.all("tr") if row.children and row.text.startswith(delta)]
    return float(row.one("td").text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plan", "release"])
def test_the_page_refers_to_nothing_but_its_own_folder(kind, plan_folder, release_folder):
    own = {"plan": plan_folder, "release": release_folder}[kind]
    page = read_page(own / "report.html")
    ids = [element.attributes["id"] for element in page.all("*") if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    for element in page.all("*"):
        assert element.tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not [name for name in element.attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            target = element.attributes.get(name, "#")
            if target.startswith("#"):
                assert target == "#" or target[1:] in ids
            else:
                assert name == "href"
                assert (own / target).is_file()
    style = page.one("style").text + " ".join(element.attributes.get("style", "") for element in page.all("*"))
    assert set(re.findall(r"url\(([^)]*)\)", style)) <= {f"#{name}" for name in ids}
    assert "@import" not in style
    assert "http" not in page.all("script")[-1].text
    policy = page.all("meta")[1].attributes["content"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


@pytest.mark.slow
def test_names_and_labels_of_users_are_text_and_nothing_else(tmp_path):
    domain = rp.Domain({NASTY[0]: NASTY, NASTY[1]: 3, NASTY[2]: 2, NASTY[3]: 2, NASTY[4]: [NASTY[4], NASTY[0]]})
    plan = rp.select(rp.marginals(domain, up_to=2), budget=rp.zcdp(1))
    page = written(any_release(plan), tmp_path)
    assert [script.attributes.get("type") for script in page.all("script")] == ["application/json"] * 3 + [None]
    assert not [element for element in page.all("*") if "onerror" in element.attributes or element.tag == "img"]
    assert not [element for element in page.all("*") if "onmouseover" in element.attributes]
    assert names_of(data_of(page))[1:6] == NASTY
    heads = [cell.text for cell in page.one("section", id="workload").all("th", scope="row")]
    assert set(NASTY) <= set(heads)
    drawn = [text.text for svg in page.all("svg") for text in svg.all("text")]
    assert {text.replace("\u2028", " ")[:40] for text in NASTY} <= {text[:40] for text in drawn}
    for file in (tmp_path / "report-figures").glob("*.svg"):
        ET.parse(file)


def test_every_figure_stands_beside_the_page_with_its_data(release, release_folder):
    page, folder = read_page(release_folder / "report.html"), release_folder / "report-figures"
    figures = [figure.attributes["id"] for figure in page.all("figure")]
    assert figures == ["table-1", "table-2", "table-3", "budget-by-order", "budget-by-query", "fairness"]
    assert {file.name for file in folder.iterdir()} == {
        "errors.csv",
        *(f"{name}.{ending}" for name in figures for ending in ("svg", "csv")),
    }
    for figure in page.all("figure"):
        svg = figure.one("svg")
        assert svg.attributes["role"] == "img"
        title, description = (svg.one(tag).attributes["id"] for tag in ("title", "desc"))
        assert svg.attributes["aria-labelledby"] == f"{title} {description}"
        assert len(svg.one("desc").text) > 10
        assert figure.one("details").one("table").all("td")
    errors = pd.read_csv(folder / "errors.csv")
    assert errors["std_err"].tolist() == pytest.approx(release.plan.errors()["std_err"].tolist(), rel=1e-12)
    shares = pd.read_csv(folder / "budget-by-order.csv")
    assert shares["privacy_share"].sum() == pytest.approx(1)
    assert shares["cells"].sum() == release.plan.workload.cells.sum()


def test_estimates_are_those_of_the_release_with_intervals(release, release_folder):
    shown = pd.read_csv(release_folder / "report-figures" / "table-2.csv")
    whole = release["region", "income"].to_frame(level=0.9)
    merged = shown.merge(whole, on=["region", "income"], suffixes=("", "_whole"))
    assert len(merged) == len(shown) == 20
    for column in ("estimate", "moe", "ci_low", "ci_high"):
        assert merged[column].tolist() == pytest.approx(merged[f"{column}_whole"].tolist())
    assert shown["estimate"].min() >= np.sort(whole["estimate"])[-20]
    ratio = norm.ppf(1 - 0.05 / 1200) / norm.ppf(0.95)
    assert (shown["joint_moe"] / shown["moe"]).tolist() == pytest.approx([ratio] * 20, rel=1e-5)


@pytest.mark.parametrize("file", ["errors.csv", "tables/income.csv"])
def test_a_folder_that_was_altered_is_refused(release, file, tmp_path):
    release.save(tmp_path / "tables", "csv")
    with open(tmp_path / "tables" / file, "a") as altered:
        altered.write("x")
    with pytest.raises(rp.errors.FileFormatError, match=file.replace("/", ".")):
        rp.publish.write_report(tmp_path / "tables", tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


@pytest.mark.slow
def test_equal_input_gives_equal_bytes(release, release_folder, tmp_path):
    rp.publish.write_report(release, tmp_path / "report.html", level=0.9)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert len(files) == 14
    for file in files:
        assert (tmp_path / file).read_bytes() == (release_folder / file).read_bytes(), file


def test_pictures_do_not_depend_on_the_settings_of_the_user(release):
    import matplotlib as mpl

    before = release["age"].plot()._repr_svg_()
    with mpl.rc_context({"font.size": 22, "svg.fonttype": "path", "axes.grid": False}):
        assert release["age"].plot()._repr_svg_() == before
        assert mpl.rcParams["font.size"] == 22


def test_nothing_is_overwritten(plan, plan_folder, tmp_path):
    before = (plan_folder / "report.html").read_bytes()
    with pytest.raises(FileExistsError, match=r"report\.html exists already and is not overwritten"):
        rp.publish.write_report(plan, plan_folder / "report.html")
    assert (plan_folder / "report.html").read_bytes() == before
    (tmp_path / "report-figures").mkdir()
    (tmp_path / "report-figures" / "mine").write_text("x")
    with pytest.raises(FileExistsError, match="report-figures is not empty"):
        rp.publish.write_report(plan, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report-figures"]


def test_a_report_that_fails_leaves_nothing(plan, tmp_path):
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large"):
        rp.publish.write_report(plan, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", [0, 1, float("nan"), "0.9"])
def test_levels_that_are_none_are_refused(release, level, tmp_path):
    with pytest.raises((rp.errors.BudgetError, TypeError)):
        rp.publish.write_report(release, tmp_path / "report.html", level=level)
    assert list(tmp_path.iterdir()) == []


def test_missing_packages_are_named(plan, tmp_path, monkeypatch):
    for package in ("matplotlib", "jinja2"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(
                rp.errors.MissingExtraError, match=rf"needs {package}, .*residualplanner\[report\]"
            ) as caught:
                rp.publish.write_report(plan, tmp_path / "report.html")
            assert caught.value.extra == "report"
    assert list(tmp_path.iterdir()) == []


def test_a_release_whose_noise_anyone_knows_promises_nothing(release, release_folder):
    page = read_page(release_folder / "report.html")
    told = page.one("section", id="privacy").text
    assert f"No privacy is promised: {release.measurement.noise.sentence}" in told

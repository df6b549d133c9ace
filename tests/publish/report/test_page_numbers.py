"""What a browser shows of a page, number by number, beside what its release's files hold, read without the package."""

import shutil

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from benchmarks.pages import compare

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the page in")


@pytest.fixture(scope="module")
def page():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser.new_page()
        browser.close()


def measured(plan, records, **options):
    return rp.reconstruct(rp.measure(plan, records, ledger=rp.Ledger.unlimited("a test"), **options))


def of_counts(counts, budget):
    domain = rp.Domain({"region": 4, "sex": 3})
    return measured(rp.select(rp.marginals(domain, up_to=2), budget=budget), {("region", "sex"): np.array(counts)})


@pytest.fixture(scope="module")
def large():
    """A release whose cells are from 0 to 10^15."""
    counts = [[42_008_926, 1_234_567, 0], [3, 10**15, 7], [10**12 + 7, 99_999_995, 12], [0, 1, 10**7]]
    return of_counts(counts, rp.zcdp("0.001"))


@pytest.fixture(scope="module")
def precise():
    """The same of so much budget that errors are below a thousandth."""
    return of_counts(
        [[42_008_926, 1_234_567, 0], [3, 10**9, 7], [10**7 + 7, 99_999_995, 12], [0, 1, 10**7]], rp.zcdp(10**7)
    )


def of_people(queries):
    """A release of queries on jobs, states, ages and pay."""
    chance, n, jobs, states = np.random.default_rng(3), 5000, ["clerk", "driver", "nurse"], ["CA", "NY", "OR", "WA"]
    pay = rp.Numeric(0, 150_000, unit=100, bins=range(10_000, 150_000, 20_000), outside="clip")
    amounts = rp.Attribute("pay", numeric=pay, about=rp.About(unit="dollars"))
    domain = rp.Domain({"job": jobs, "state": states, "age": rp.Bins([0, 18, 40, 65, 120]), "pay": amounts})
    records = {"job": chance.choice(jobs, n), "state": chance.choice(states, n), "age": chance.integers(0, 120, n)}
    records["pay"] = chance.integers(100, 1400, n) * 100
    return measured(rp.select(rp.Workload(domain, queries), budget=rp.zcdp("0.05")), pd.DataFrame(records))


AMOUNTS = [
    (),
    ("job",),
    {"job": rp.Identity(), "pay": rp.Mean()},
    {"job": rp.Identity(), "pay": rp.Sum()},
    {"job": rp.Identity(), "pay": rp.Quantiles([0.25, 0.5])},
]


@pytest.fixture(scope="module")
def amounts():
    return of_people(AMOUNTS)


@pytest.fixture(scope="module")
def kinds():
    """A release of every sort of query: means, quantiles, sums, ranges, levels, thresholds, a universe."""
    levels = rp.Hierarchy([{"West": ["CA", "OR", "WA"], "East": ["NY"]}])
    more = [
        {"age": rp.Range()},
        {"state": levels, "job": rp.Identity()},
        rp.Threshold(("job", "age"), 1),
        rp.Among({"age": rp.Identity()}, where={"job": ["nurse"]}),
    ]
    return of_people(AMOUNTS + more)


PRODUCTS = {
    "unbiased": lambda release: release,
    "non-negative": rp.nonnegative,
    "both": lambda release: rp.rounded(rp.nonnegative(release)),
}


def wrong(page, folder, report, level):
    found = compare(page, folder, report, level)
    assert found.compared > 100
    return found.wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "product", "level"),
    [
        ("large", "unbiased", 0.999),
        ("large", "both", 0.99),
        ("precise", "unbiased", 0.95),
        ("kinds", "unbiased", 0.95),
        ("amounts", "non-negative", 0.9),
    ],
)
@pytest.mark.cases(1)
def test_every_number_of_a_page_is_that_of_the_files(page, request, world, product, level, tmp_path):
    tables = PRODUCTS[product](request.getfixturevalue(world))
    tables.save(tmp_path / "out", "csv", level=level)
    rp.publish.write_report(tmp_path / "out", tmp_path / "report.html", level=level)
    assert wrong(page, tmp_path / "out", tmp_path / "report.html", level) == []


@pytest.mark.slow
def test_a_page_of_another_level_than_the_files_or_on_parts_has_their_numbers(page, large, tmp_path):
    large.save(tmp_path / "out", "parquet", level=0.9)
    large.save(tmp_path / "parts", "parts")
    for name in ("out", "parts"):
        rp.publish.write_report(tmp_path / name, tmp_path / f"{name}.html", level=0.99)
        assert wrong(page, tmp_path / "out", tmp_path / f"{name}.html", 0.99) == []


@pytest.mark.slow
def test_unbiased_estimates_and_published_errors_beside_change_nothing(page, large, tmp_path):
    made, quality = PRODUCTS["both"](large), rp.publish.Quality(reliable=0.1, usable=0.2, suppress=True)
    errors = rp.fits.published_errors(made, simulations=10)
    made.save(tmp_path / "out", "csv", with_unbiased=True, errors=errors, quality=quality)
    rp.publish.write_report(tmp_path / "out", tmp_path / "report.html")
    assert wrong(page, tmp_path / "out", tmp_path / "report.html", 0.95) == []


def test_a_large_estimate_is_shown_with_the_digits_of_its_error(large, tmp_path):
    rp.publish.write_report(large, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    held = f"{large['region', 'sex'].estimate[0, 0]:.1f}"
    assert held in text
    assert f"{float(held):,.1f}" in text


def test_charts_show_means_and_quantiles_in_their_unit(kinds, tmp_path):
    rp.publish.write_report(kinds, tmp_path / "report.html")
    drawn = (tmp_path / "report-figures" / "table-2.svg").read_text(encoding="utf-8")
    svg = kinds[{"job": rp.Identity(), "pay": rp.Mean()}].plot()._repr_svg_()
    assert "above" not in drawn + svg
    assert ">dollars<" in svg
    assert ">nurse<" in svg

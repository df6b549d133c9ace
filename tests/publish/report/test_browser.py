"""The page in a real browser: sorting, searching, turning pages, keyboard, print, no network, no errors."""

import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from made_releases import exact_release

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the page in")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(many_report):
    return many_report[0].as_uri()


@contextmanager
def opened(browser, address, **options):
    """A page; at the end nothing has been logged, asked of the network or raised."""
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 900}} | options)
    page, told, requests = context.new_page(), [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    yield page
    assert (told, requests) == ([], [address])
    context.close()


@pytest.fixture
def page(browser, address):
    with opened(browser, address) as page:
        yield page


def names(page):
    return page.locator("#errors tbody th").all_text_contents()


def column(page, heading):
    heads = page.locator("#errors thead th").all_text_contents()
    cells = page.locator(f"#errors tbody tr > :nth-child({heads.index(heading) + 1})").all_text_contents()
    return [float(text.strip("%").replace(",", "")) for text in cells]


def sorting(page):
    pairs = page.eval_on_selector_all("#errors thead th", "all => all.map(x => [x.dataset.key, x.ariaSort])")
    return {key: direction for key, direction in pairs if direction is not None}


def test_what_the_script_shows_first_is_what_stood_there_before(browser, address, page):
    with opened(browser, address, java_script_enabled=False) as still:
        rows = [view.locator("#errors tbody tr").all_inner_texts() for view in (still, page)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 25


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_the_order(page, many):
    errors = many.errors()
    page.get_by_role("button", name="Standard error").click()
    assert sorting(page) == {"std_err": "descending"}
    assert column(page, "Standard error") == pytest.approx(sorted(errors["std_err"], reverse=True)[:25], abs=0.06)
    page.get_by_role("button", name="Standard error").click()
    assert sorting(page) == {"std_err": "ascending"}
    assert column(page, "Standard error") == pytest.approx(sorted(errors["std_err"])[:25], abs=0.06)
    page.get_by_role("button", name="Table").click()
    assert sorting(page) == {"query": "ascending"}
    assert names(page)[:4] == ["(total)", "a0", "a0 × a1", "a0 × a1 × a2"]


def test_everything_works_from_the_keyboard(page):
    page.locator("#search").focus()
    for reached in (None, "reset", None, "Table", None, "Cells"):
        page.keyboard.press("Tab")
        active = page.evaluate("[document.activeElement.id, document.activeElement.textContent]")
        assert reached is None or reached in active
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    cells = column(page, "Cells")
    assert sorting(page) == {"cells": "descending"}
    assert cells == sorted(cells, reverse=True)
    page.keyboard.press(" ")
    assert sorting(page) == {"cells": "ascending"}
    assert column(page, "Cells")[0] == 1


def test_search_and_order_filter_together(page):
    page.locator("#search").fill("A7 a1")
    shown = names(page)
    assert all("a7" in name and "a1" in name for name in shown)
    page.locator("#order").select_option("2")
    assert names(page)[:2] == ["a1 × a7", "a7 × a10"]
    assert page.locator("#status").text_content() == "1 to 11 of 11"
    assert page.locator("#shown").text_content() == "Tables 1 to 11 of 11 tables, found among 4,526"
    page.locator("#search").fill("no such table")
    assert names(page) == []
    assert page.locator("#shown").text_content() == "No table has these words"
    page.locator("#reset").click()
    assert page.locator("#status").text_content() == "1 to 25 of 4,526"
    assert page.locator("#order").input_value() == ""


def test_pages_turn_and_end(page):
    assert page.locator("#previous").is_disabled()
    page.locator("#next").click()
    assert page.locator("#status").text_content() == "26 to 50 of 4,526"
    page.locator("#last").click()
    assert page.locator("#status").text_content() == "4,526 to 4,526 of 4,526"
    assert names(page) == ["a27 × a28 × a29"]
    assert page.locator("#next").is_disabled()
    page.locator("#first").click()
    assert names(page)[0] == "(total)"


@pytest.mark.cases(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_follow_the_reader_and_texts_stand_out(browser, address, scheme):
    script = """["backgroundColor", "color"].map(name => getComputedStyle(document.body)[name]).concat(
        getComputedStyle(document.querySelector("figure svg text")).fill)"""
    with opened(browser, address, color_scheme=scheme) as page:
        paper, ink, svg = (list(map(int, color.strip("rgb()").split(","))) for color in page.evaluate(script))
    assert (sum(paper) > 384) == (scheme == "light")
    assert abs(sum(paper) - sum(ink)) > 500
    assert svg == ink


@pytest.fixture(scope="session")
def published(release, tmp_path_factory):
    """The page on a saved release of 15 tables, of which it holds those of up to 90 cells."""
    folder = tmp_path_factory.mktemp("published")
    about = rp.publish.Publication(title='Ages <in> "2026"', author="An office")
    release.save(folder / "release", "csv", quality=rp.publish.Quality(), publication=about)
    rp.publish.write_report(folder / "release", folder / "report.html", cells=560)
    return folder / "report.html"


@pytest.fixture
def tables(browser, published):
    with opened(browser, published.as_uri()) as page:
        yield page


def cells_of(page):
    return [row.split("\t") for row in page.locator("#cells tbody tr").all_inner_texts()]


def test_a_table_is_chosen_searched_sorted_and_turned(tables, release):
    tables.locator("#cells-table").select_option(label="age × region")
    assert tables.locator("#cells thead th").all_inner_texts()[:2] == ["age", "region"]
    assert tables.locator("#cells-status").text_content() == "1 to 25 of 90"
    shown = cells_of(tables)
    expected = release["age", "region"].estimate.ravel()
    assert [float(row[2].replace(",", "")) for row in shown] == pytest.approx(expected[:25], abs=0.051)
    assert [row[1] for row in shown] == [str(code) for code in range(25)]
    tables.locator("#cells-next").click()
    assert cells_of(tables)[0][:2] == ["[0, 18)", "25"]
    tables.locator("#cells-search").fill("65 29")
    assert [row[:2] for row in cells_of(tables)] == [["[18, 65)", "29"], ["[65, 120]", "29"]]
    tables.locator("#cells-reset").click()
    tables.locator("#cells").get_by_role("button", name="Estimate").click()
    highest = sorted(expected, reverse=True)[:25]
    assert [float(row[2].replace(",", "")) for row in cells_of(tables)] == pytest.approx(highest, abs=0.051)
    tables.locator("#cells-table").select_option(label="sex")
    assert [row[0] for row in cells_of(tables)] == ["F", "M"]


def test_a_level_of_a_classification_is_chosen(browser, tmp_path):
    codes = [f"{number:02}" for number in range(6)]
    frame = pd.DataFrame({"side": ["W", "W", "W", "E", "E", "E"], "town": codes})
    places = rp.Hierarchy.from_frame(frame, ["side", "town"])
    domain = rp.Domain({"town": places, "sex": ["F", "M"]})
    plan = rp.select(rp.Workload(domain, [{"town": places}, ("sex",)]), budget=rp.zcdp("0.5"))
    rp.publish.write_report(exact_release(plan, np.arange(100, 112).reshape(6, 2)), tmp_path / "r.html")
    with opened(browser, (tmp_path / "r.html").as_uri()) as page:
        page.locator("#cells-table").select_option(label="town (hierarchy)")
        assert page.locator("#cells-level option").all_inner_texts() == ["all", "(total)", "side", "town"]
        assert len(cells_of(page)) == 9
        page.locator("#cells-level").select_option("side")
        assert [row[0] for row in cells_of(page)] == ["W", "E"]
        page.locator("#cells-reset").click()
        assert len(cells_of(page)) == 9
        page.locator("#cells-table").select_option(label="sex")
        assert page.locator("#cells-level").is_hidden()


def test_every_table_is_reached_by_its_name_or_from_a_list(tables, published):
    hrefs = tables.eval_on_selector_all("#errors tbody th a", "all => all.map(x => x.getAttribute('href'))")
    listed = tables.eval_on_selector_all("#files a", "all => all.map(x => x.getAttribute('href'))")
    assert hrefs == listed
    assert len(hrefs) == 15
    assert all((published.parent / href).is_file() for href in hrefs)
    tables.locator("#search").fill("sex")
    assert "./release/tables/age.sex.csv" in tables.eval_on_selector_all(
        "#errors tbody th a", "all => all.map(x => x.getAttribute('href'))"
    )


def test_every_printed_page_has_the_title_and_its_number(tables, tmp_path):
    import pypdf

    tables.pdf(path=tmp_path / "page.pdf", format="A4")
    texts = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "page.pdf").pages]
    assert len(texts) > 5
    for number, text in enumerate(texts, start=1):
        assert 'Ages <in> "2026"' in text
        assert f"{number} / {len(texts)}" in text


def test_a_narrow_window_has_no_sideways_scrolling_but_in_tables_and_pictures(browser, address):
    with opened(browser, address, viewport={"width": 400, "height": 800}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400

"""Another budget on a plan's page, in a real browser: its numbers are those of a plan that is made for it."""

import re
import shutil
from contextlib import contextmanager
from fractions import Fraction
from itertools import islice

import cvxpy
import numpy as np
import pytest

import residualplanner as rp
from residualplanner.ground.words import rounded_up
from residualplanner.method.privacy import claim_of_budget
from residualplanner.shell.cli.spec.values import _budget

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium to open the page in"),
    pytest.mark.usefixtures("without_pictures"),
]
READ = """() => {
    const texts = (all) => [...all].map((each) => each.textContent);
    const rows = (where) => [...document.querySelector(where).rows].map((row) => texts(row.cells));
    const facts = [...document.querySelectorAll(".facts div")].map((fact) => texts(fact.children));
    return {
        errors: rows("#errors"), orders: rows("#workload table"), facts: Object.fromEntries(facts),
        variations: rows("#another-errors div:last-child table"),
        caution: document.querySelector("#another-caution:not([hidden])")?.textContent ?? "",
    };
}"""
#: How a budget is chosen: its notion on the page, and what is typed.
CHOICES = [
    (rp.zcdp("0.5"), "rho", "0.5"),
    (rp.zcdp("0.0371"), "rho", "0.0371"),
    (rp.zcdp("44"), "rho", "44"),
    (rp.zcdp("1/3"), "rho", "1/3"),
    (rp.approx_dp("1", "1e-9"), "epsilon", "1", "1e-9"),
    (rp.approx_dp("0.07", "1e-5"), "epsilon", "0.07", "1e-5"),
    (rp.approx_dp("12.5", "1e-12"), "epsilon", "12.5", "1e-12"),
]
CONTINUOUS = [
    (rp.privacy.gdp("0.7"), "mu", "0.7"),
    (rp.approx_dp("2.5", "1e-7", noise="gaussian"), "epsilon", "2.5", "1e-7"),
    (rp.approx_dp("0.01", "1e-3", noise="gaussian"), "epsilon", "0.01", "1e-3"),
]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def opened(browser, plan, folder, **options):
    """The page of a plan; at the end nothing was logged, asked of the network or raised."""
    rp.publish.write_report(plan, folder / "plan.html", replace=True)
    context = browser.new_context(**options)
    page, told, requests = context.new_page(), [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((folder / "plan.html").as_uri())
    yield page
    assert (told, len(requests)) == ([], 1)
    context.close()


def choose(page, notion, number, delta=None):
    page.locator("#another-notion").select_option(notion)
    if delta is not None:
        page.locator("#another-delta").fill(delta)
    page.locator("#another-number").fill(number)


def compared(page, row):
    """What a row says of the budget that is chosen."""
    cells = page.locator("#another-errors table").first.locator("tr", has_text=row).first.locator("th, td")
    return cells.all_text_contents()[-1]


WORKLOADS = [
    rp.marginals(rp.Domain({"a": 3, "b": 7, "c": 40}), up_to=2),
    rp.marginals(rp.Domain({"sex": 2, "age": 101, "region": 17, "job": 5}), order=2),
    rp.Workload(rp.Domain({"x": 12, "y": 4}), [{"x": rp.Prefix()}, ("x", "y"), ("y",)], [1, 3, 0.2]),
    rp.marginals(rp.Domain({"only": 1000}), order=1),
    rp.marginals(rp.Domain({f"v{i}": 2 + i for i in range(6)}), up_to=3),
]


def losses(workload):
    """All losses for which the best noise of every budget is the same but for its scale."""
    margins = np.linspace(5, 60, len(workload))
    margins[1:-1:2] = np.nan
    sums = [rp.losses.SumOfVariances(weights) for weights in ("cells", "equal", "sqrt")]
    return [*sums, rp.losses.MaxVariance(), rp.losses.Targets(margins), lambda variance: cvxpy.norm(variance, 2)]


def worlds():
    """25 workloads with a loss, neighbors, the plan's budget and another one."""
    chance = np.random.default_rng(31)
    for number in range(25):
        workload = WORKLOADS[number % 5]
        choices = CHOICES if number % 4 else CONTINUOUS
        loss = losses(workload)[number // 5 % 6]
        how = {"neighbors": "replace"} if number % 2 else {"records_per_person": int(chance.integers(1, 4))}
        first, second = chance.choice(len(choices), 2, replace=False)
        yield workload, loss, how, choices[first][0], choices[second]


@pytest.fixture(scope="module")
def one_page(browser):
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.thorough
@pytest.mark.parametrize("start", [pytest.param(start, marks=pytest.mark.slow if start else ()) for start in range(5)])
@pytest.mark.cases(1)
def test_the_numbers_of_a_budget_are_those_of_a_plan_that_is_made_for_it(one_page, start, tmp_path):
    page = one_page
    for workload, loss, how, first, (budget, *typed) in islice(worlds(), start, None, 5):
        plan, expected = (rp.select(workload, budget=each, loss=loss, time=0, **how) for each in (first, budget))
        rp.publish.write_report(expected, tmp_path / "expected.html", replace=True)
        page.goto((tmp_path / "expected.html").as_uri())
        made = page.evaluate(READ)
        rp.publish.write_report(plan, tmp_path / "plan.html", replace=True)
        page.goto((tmp_path / "plan.html").as_uri())
        choose(page, *typed)
        shown, words = page.evaluate(READ), (plan, budget)
        for each in ("Typical error", "Worst margin", "Targets met"):
            assert shown["facts"].get(each) == made["facts"].get(each), words
        for each in ("errors", "orders", "variations"):
            assert shown[each] == made[each], words
        law, delta = plan.budget.proved_for[0], page.locator("#another-delta").input_value()
        caution = claim_of_budget(budget, plan.neighbors, noise=law).caution
        assert shown["caution"].removeprefix("Caution: ") == caution, words
        assert compared(page, f"epsilon at delta {delta}") == rounded_up(budget.epsilon(delta, noise=law)), words


def test_variations_are_standard_errors_beside_sizes_with_the_words_for_them(browser, tmp_path):
    plan = rp.select(WORKLOADS[0], budget=rp.zcdp("0.02"))
    with opened(browser, plan, tmp_path) as page:
        choose(page, "rho", "0.005")
        rows = page.evaluate(READ)["variations"]
    errors = 2 * plan.errors().groupby("order")["std_err"].median()
    assert rows[0][1:] == ["10", "100", "1,000", "10,000", "100,000"]
    for row, error in zip(rows[1:], errors, strict=True):
        for size, text in zip((10, 100, 1000, 10_000, 100_000), row[1:], strict=True):
            number, word = re.fullmatch(r"([<>]? ?[\d.,]+)% (.*)", text).groups()
            part = error / size
            assert word == ("reliable" if part < 0.15 else "use with caution" if part < 0.3 else "unreliable")
            if number[0] not in "<>":
                assert float(number.replace(",", "")) == pytest.approx(100 * part, abs=0.05 if part < 0.1 else 0.5)


def test_a_margin_that_is_wanted_finds_the_least_budget(browser, tmp_path):
    plan = rp.select(WORKLOADS[0], budget=rp.zcdp("0.02"))
    with opened(browser, plan, tmp_path) as page:
        page.locator("#another-margin").fill("25")
        page.locator("#another-table").fill("C b")
        page.keyboard.press("Enter")
        found = page.locator("#another-found").text_content()
        assert found.startswith("b × c: a 95% margin of at most 25 in every cell needs rho = ")
        rho = found.rstrip(".").rpartition(" ")[2]
        assert page.locator("#another-number").input_value() == rho
    margins = [
        rp.select(WORKLOADS[0], budget=rp.zcdp(each)).errors().set_index("query").loc["b × c", "moe"]
        for each in (rho, Fraction(rho) * Fraction(999, 1000))
    ]
    assert margins[0] <= 25 < margins[1]


def test_the_slider_keys_and_reset_move_the_whole_page_and_bring_it_back(browser, plan, tmp_path):
    with opened(browser, plan, tmp_path) as page:
        before, text = page.evaluate(READ), page.locator("main").inner_text()
        page.locator("#another-slider").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#another-number").input_value() == "0.512"
        assert page.locator("#another-slider").get_attribute("aria-valuetext") == "0.512-zCDP"
        page.keyboard.press("End")
        assert page.locator("#another-number").input_value() == "50"
        assert page.locator(".as-planned:visible, .as-chosen:visible").count() == 4
        shown = page.evaluate(READ)
        assert shown["facts"]["Privacy budget"] == "50-zCDP chosen below, in place of 0.5-zCDP"
        assert float(shown["orders"][1][3]) == pytest.approx(float(before["orders"][1][3]) / 10, rel=0.01)
        page.locator("#another-keep").click()
        choose(page, "epsilon", "1", "1e-9")
        heads = page.locator("#another-errors thead").first.locator("th").all_text_contents()
        assert heads == ["Budget", "Plan", "Kept", "Chosen"]
        page.locator("#another-reset").click()
        assert page.evaluate(READ) == before
        assert page.locator("main").inner_text() == text


def test_what_is_no_budget_is_said_and_changes_nothing(browser, plan, tmp_path):
    with opened(browser, plan, tmp_path) as page:
        before = page.evaluate(READ)
        for number in ("", "0", "-1", "0,5", "1e99", "much"):
            choose(page, "rho", number)
            assert page.locator("#another-status").text_content().startswith("Write a budget as a number above 0")
            assert page.locator("#another-number").get_attribute("aria-invalid") == "true"
        choose(page, "epsilon", "1", "2")
        assert page.locator("#another-status").text_content().startswith("Write delta as a number between 0 and 1")
        assert page.evaluate(READ) == before


def line_of(page):
    return page.locator("#another-line").input_value()


@pytest.mark.thorough
def test_the_line_for_a_file_is_the_budget_that_is_chosen(browser, tmp_path):
    import tomllib

    for budget in (rp.pcost("0.3"), rp.approx_dp("1", "1e-9"), rp.privacy.gdp("0.3")):
        with opened(browser, rp.select(WORKLOADS[0], budget=budget), tmp_path) as page:
            same = _budget(tomllib.loads(line_of(page))["budget"])
            assert same == budget or same.pcost_exact == budget.pcost_exact == Fraction(9, 100)
            page.locator("#another-copy").click()
            page.locator(
                "#another-copied", has_text=re.compile("Copied|Selected; copy it with your keyboard")
            ).wait_for()
            assert page.evaluate("getSelection().toString()") == line_of(page)
            choose(page, "epsilon", "2.5", "1e-7")
            found = _budget(tomllib.loads(line_of(page))["budget"])
            if budget.notion == "gdp":
                cost = rp.approx_dp("2.5", "1e-7", noise="gaussian").pcost_exact
                assert float(cost) * (1 - 1e-9) < found.pcost_exact <= cost
            else:
                assert found == rp.approx_dp("2.5", "1e-7")


def test_in_print_and_on_a_phone_the_budget_that_is_chosen_is_said_and_without_scripts_nothing(browser, plan, tmp_path):
    import pypdf

    with opened(browser, plan, tmp_path, viewport={"width": 390, "height": 800}) as page:
        choose(page, "rho", "0.25")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.pdf(path=tmp_path / "page.pdf", format="A4")
    text = " ".join(each.extract_text() for each in pypdf.PdfReader(tmp_path / "page.pdf").pages)
    text = re.sub(r"\s+", " ", text)
    assert "Chosen: 0.25-zCDP. It allows 0.5 times the privacy cost of the plan, 0.5-zCDP" in text
    assert text.count("As planned, for 0.5-zCDP, not for 0.25-zCDP.") == 2
    assert text.count("Errors for 0.25-zCDP") == 2
    with opened(browser, plan, tmp_path, java_script_enabled=False) as page:
        assert not page.locator("#another-budget, a[href='#another-budget']").first.is_visible()


@pytest.mark.thorough
def test_a_loss_that_is_not_in_proportion_is_said(browser, release, tmp_path):
    for loss, is_said in (("sum", False), (lambda variance: cvxpy.sum(variance**2) + cvxpy.sum(variance), True)):
        with opened(browser, rp.select(WORKLOADS[0], budget=rp.zcdp(1), loss=loss), tmp_path) as page:
            assert ("might divide it differently" in page.locator("#another-budget").inner_text()) == is_said
    with opened(browser, release, tmp_path) as page:
        assert page.locator("#another-budget, #budget-data").count() == 0

"""The site is whole: built without a warning, no link dead, and every public name on one page of the reference."""

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import residualplanner

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs"
DIRECTIVE = re.compile(
    r"^\.\. (?:(currentmodule)|auto(?:class|function|exception|data)):: (?:residualplanner\.(?=__version__))?([\w.]+)",
    flags=re.MULTILINE,
)
READ_ON_GITHUB = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
LINK = re.compile(r"\]\(docs/([^)#\s]+)\.md(?:#([^)\s]*))?\)")

needs_sphinx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo", "sphinx_copybutton")),
    reason="the packages of the extra docs are not installed",
)


needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium to search in")


def results_of_searches(site: Path, queries: list[str]) -> dict[str, list[str]]:
    """The pages that a reader's browser lists for each query, without anchors, the first first."""
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        for query in queries:
            page.goto(f"{(site / 'search.html').as_uri()}?q={query}")
            page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
            links = page.eval_on_selector_all(
                "#search-results li > a", "all => all.map(each => each.getAttribute('href'))"
            )
            found[query] = [re.split(r"[?#]", link)[0] for link in links]
        browser.close()
    return found


class Page(HTMLParser):
    """The anchors, the links and the words outside code of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.sources: list[str] = []
        self.words: list[str] = []
        self._code = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag in ("script", "img", "link") and (source := attributes.get("src") or attributes.get("href")):
            self.sources.append(source)
        self._code += tag in ("pre", "code", "script", "style")

    def handle_endtag(self, tag):
        self._code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data):
        if not self._code:
            self.words.append(data)


#: Sphinx makes millions of objects that live to the end: to look for circles among them takes a tenth of its time.
BUILD = "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", BUILD, "-W", "-q", "-d", folder / "doctrees", MANUAL, folder / "html"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def documented_names(text: str) -> list[tuple[str, str]]:
    """What a page of the reference documents: module and name."""
    found = []
    for block in re.findall(r"^```\{eval-rst\}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        module = "residualplanner"
        for is_module, name in DIRECTIVE.findall(block):
            module, found = (name, found) if is_module else (module, [*found, (module, name)])
    return found


def documented_objects() -> list[tuple[str, str, object]]:
    """What all pages of the reference document: module, name and object."""
    pages = [path.read_text(encoding="utf-8") for path in (MANUAL / "api").glob("*.md")]
    names = [each for text in pages for each in documented_names(text)]
    return [(module, name, getattr(importlib.import_module(module), name)) for module, name in names]


def public_objects():
    """What the package lists as its own and of its rooms."""
    rooms = [
        residualplanner,
        *(getattr(residualplanner, name) for name in ("fits", "publish", "scale", "strategies", "testing")),
    ]
    found = [getattr(room, name) for room in rooms for name in room.__all__]
    return [each for each in found if not isinstance(each, ModuleType)]


def test_every_public_name_is_on_exactly_one_page_of_the_reference():
    documented = [each for _, _, each in documented_objects()]
    assert [each for each in public_objects() if documented.count(each) != 1] == []


@pytest.mark.parametrize("path", sorted((MANUAL / "api").glob("*.md")), ids=lambda path: path.name)
def test_a_page_of_the_reference_has_names_that_exist_and_begins_with_how_its_subject_is_made(path):
    text = path.read_text(encoding="utf-8")
    names = documented_names(text)
    assert [name for module, name in names if not hasattr(importlib.import_module(module), name)] == []
    fences = re.findall(r"^```(\S+)$", text, flags=re.MULTILINE)
    assert path.name == "index.md" or fences[0] == "python"


@needs_sphinx
def test_every_public_name_has_an_anchor_and_a_line_in_the_index_of_the_reference(pages):
    anchors = Counter(anchor for page in pages.values() for anchor in page.anchors)
    assert [name for module, name, _ in documented_objects() if anchors[f"{module}.{name}"] != 1] == []
    (index,) = [page for path, page in pages.items() if path.match("api/index.html")]
    listed = [link.partition("#")[2] for link in index.links if ".html#residualplanner." in link]
    names = {f"{module}.{name}" for module, name, each in documented_objects() if each in public_objects()}
    assert len(listed) == len(set(listed))
    assert set(listed) >= names - {"residualplanner.__version__"}


@needs_sphinx
@needs_chromium
def test_a_search_finds_pages_for_users_first_and_those_for_developers_last(site):
    found = results_of_searches(site, ["median", "percentages", "k-anonymity", "proof"])
    index = (MANUAL / "index.md").read_text(encoding="utf-8")
    for_developers = re.findall(
        r"^\| \[[^]]*\]\((.*)\.md\)", index.partition("## For developers")[2], flags=re.MULTILINE
    )
    assert found["median"][0] == "tutorial-pay.html"
    assert found["percentages"][0] == "tables.html"
    assert found["k-anonymity"][0] == "pitfalls.html"
    for pages_found in found.values():
        names = [page.removesuffix(".html") for page in pages_found]
        last = [name in for_developers or name.startswith("decisions/") for name in names]
        assert last == sorted(last)
    assert "mathematics.html" in found["proof"]


@needs_sphinx
@needs_chromium
def test_a_button_copies_what_is_typed_and_nothing_that_is_printed(site):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto((site / "verifying.html").as_uri())
        page.evaluate("document.addEventListener('copy', e => { window.copied = document.activeElement.value; })")
        copied = []
        for button in page.query_selector_all("button.copybtn"):
            button.evaluate("button => button.click()")
            copied.append(page.evaluate("window.copied"))
        icon = page.eval_on_selector("link[rel~=icon]", "link => link.getAttribute('href')")
        browser.close()
    examples = re.findall(r"^```(python|console)\n(.*?)^```", (MANUAL / "verifying.md").read_text(), re.M | re.S)
    typed = [
        "\n".join(line.removeprefix("$ ") for line in text.splitlines() if kind == "python" or line.startswith("$ "))
        for kind, text in examples
    ]
    assert copied == typed
    assert (site / icon).exists()


@needs_sphinx
def test_no_link_is_dead_nothing_is_fetched_from_the_network_and_every_formula_was_understood(pages):
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in pages[target].anchors | {""}):
                dead.append((path.name, link))
    assert dead == []
    assert {source for page in pages.values() for source in page.sources if urlsplit(source).netloc} == set()
    left = [(path.name, word) for path, page in pages.items() for word in page.words if re.search(r"\$|\\[a-z]", word)]
    assert left == []
    (plan,) = [page for path, page in pages.items() if path.match("api/plan.html")]
    assert "../mathematics.html#equation-8" in plan.links  # from the docstring of a function


@needs_sphinx
@pytest.mark.parametrize("source", READ_ON_GITHUB, ids=lambda path: path.name)
def test_links_into_the_manual_lead_to_a_page_and_a_heading(source, site, pages):
    for name, anchor in LINK.findall(source.read_text(encoding="utf-8")):
        page = pages[site / f"{name}.html"]
        assert not anchor or anchor in page.anchors, (name, anchor)

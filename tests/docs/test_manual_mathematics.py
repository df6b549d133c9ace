"""The mathematics page is whole, and every citation of a docstring names an equation or a section that exists.

Citations have one form.  An equation by its number alone, as in "eq. (8)", is one of `docs/mathematics.md`; all else
names its page: "docs/mathematics.md section 5", "docs/exact-noise.md eq. (b)".  "Spec" is the TOML file only.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
#: All files but this one, whose examples of citations are wrong on purpose.
FILES = sorted(
    path
    for folder in ("residualplanner", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if path != Path(__file__).resolve()
)

#: One equation, several, or a range: "(8)", "(11) and (41)", "(15) to (17)".
EQUATIONS = r"\(\w+\)(?:(?:,\s+and|,|\s+and|\s+to)\s+\(\w+\))*"
CITATION = re.compile(rf"(?:docs/([\w/-]+)\.md\s+)?\beqs?\.\s+({EQUATIONS})")
MENTION = re.compile(r"\beqs?\.\s+(?!:ref:)")  # which a docstring's link on the site begins with
NAMED_PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")
SECTIONS = re.compile(r"\bdocs/([\w/-]+)\.md\s+sections?\s+(\d+(?:(?:,\s+and|,|\s+and|\s+to)\s+\d+)*)")
#: A page that is named and is not of this repository, and other words for the mathematics.
ELSEWHERE = re.compile(
    r"\bspec \(\d|\bspec,? (?:sections?|eqs?\.)|rap-and-microdata|(?<!\w)math\.md|^Equations?: [^.]*\(\d", re.MULTILINE
)
#: "Source: section 5" does not say of what.
NO_PAGE = re.compile(r"(?:Source: |; )sections?\s+\d")
STATEMENT = re.compile(r"[Pp]aper (Definition|Theorem|Lemma|Algorithm)s? ([\w.]*\w(?:(?:, | and )[\w.]*\d)*)")
#: Equations that no function computes, and why.
NOT_COMPUTED = {
    "20": "the paper's estimates, of which (25) are those with any basis",
    "21": "their covariances, by (26)",
    "22": "their sums of variances, by (27)",
    "106": "that the costs of (2), (8), (28) and (37) hold for fractions of records",
    "123": "an example that plans for a `Mean` reach",
}
#: What makes a docstring one with a formula, and what tells where the formula is from.
FORMULA = re.compile(r"sum_\w|sigma_\w|sqrt\(|sigma squared|Kronecker product|subtraction matrix")
ORIGIN = re.compile(r"Source: |\beqs?\. \(")


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
PACKAGE_TEXTS = {name: text for name, text in TEXTS.items() if name.startswith("residualplanner/")}


def spread(text: str) -> Iterator[str]:
    """The numbers or letters of a list, with those within its ranges."""
    for first, last in re.findall(r"(\w+)\)?(?:\s+to\s+\(?(\w+))?", re.sub(r"\band\b", "", text)):
        if first.isdigit():
            yield from map(str, range(int(first), int(last or first) + 1))
        else:
            yield from map(chr, range(ord(first), ord(last or first) + 1))


def cited_equations(text: str) -> Iterator[tuple[str, str]]:
    """The page and the number or letter of every equation that is cited."""
    for citation in CITATION.finditer(text):
        yield from ((citation[1] or "mathematics", equation) for equation in spread(citation[2]))


def cited_sections(text: str) -> Iterator[tuple[str, str]]:
    """The page and the number of every section that is cited."""
    for citation in SECTIONS.finditer(text):
        yield from ((citation[1], section) for section in spread(citation[2]))


@cache
def page(name: str) -> str:
    """The text of a page; empty where there is none."""
    path = ROOT / "docs" / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def dead_citations(text: str) -> list[str]:
    """What a text cites that does not exist, or does not name as citations do."""
    return [
        *(f"{name} ({tag})" for name, tag in cited_equations(text) if rf"\tag{{{tag}}}" not in page(name)),
        *(f"{name} {number}" for name, number in cited_sections(text) if f"\n## {number}. " not in page(name)),
        *(name for name in NAMED_PAGE.findall(text) if not page(name)),
        *(match[0] for match in [*ELSEWHERE.finditer(text), *NO_PAGE.finditer(text)]),
        *(["an equation without its number"] if len(MENTION.findall(text)) > len(CITATION.findall(text)) else []),
    ]


def functions_without_source(code: str) -> list[str]:
    """The public functions and methods with a formula that neither they nor their module say the source of."""
    module = ast.parse(code)
    if ORIGIN.search(ast.get_docstring(module) or ""):
        return []
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    nodes = [*module.body, *(member for each in classes for member in each.body)]
    public = [node for node in nodes if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    texts = {node.name: ast.get_docstring(node) or "" for node in public}
    return [name for name, text in texts.items() if FORMULA.search(text) and not ORIGIN.search(text)]


def test_citations_are_read_with_their_ranges():
    text = "eq. (8); eqs. (1), (2) and (4) to (6).  Also eqs. (10), and (12), docs/exact-noise.md eqs. (b) to (d)."
    numbers = ["8", "1", "2", "4", "5", "6", "10", "12"]
    assert list(cited_equations(text)) == [
        *(("mathematics", number) for number in numbers),
        *(("exact-noise", letter) for letter in "bcd"),
    ]
    assert list(cited_sections("docs/a.md sections 2, 4 and 6 to 8")) == [("a", number) for number in "24678"]


def test_every_citation_names_an_equation_a_section_or_a_page_that_exists():
    dead = {name: dead_citations(text) for name, text in TEXTS.items()}
    assert {name: each for name, each in dead.items() if each} == {}


def test_every_statement_of_the_paper_that_is_cited_is_on_the_page_of_notation():
    rows = re.findall(r"^\| (Definition|Theorem|Lemma|Algorithm)s? ([^|]*) \|", page("notation"), flags=re.MULTILINE)
    citations = [found for text in TEXTS.values() for found in STATEMENT.findall(text)]
    known, cited = (
        {(kind, number) for kind, numbers in pairs for number in re.split(r", | and | to ", numbers)}
        for pairs in (rows, citations)
    )
    assert cited - known == set()
    assert len(cited) >= 5


def test_equations_and_sections_are_numbered_without_a_gap():
    numbers = sorted(map(int, re.findall(r"\\tag\{(\d+)\}", PAGE)))
    sections = list(map(int, re.findall(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE)))
    assert numbers == list(range(1, len(numbers) + 1))
    assert sections == list(range(1, len(sections) + 1))


@pytest.mark.parametrize("name", ["adaptive-projection", "exact-noise"])
def test_equations_with_letters_follow_the_alphabet(name):
    letters = re.findall(r"\\tag\{([a-z])\}", page(name))
    assert letters == [chr(ord("a") + number) for number in range(len(letters))]


def test_every_theorem_on_the_page_has_a_proof_that_ends():
    assert PAGE.count("$\\square$") >= PAGE.count("*Proof")


def test_every_equation_is_cited_where_it_is_computed():
    numbers = set(re.findall(r"\\tag\{(\d+)\}", PAGE))
    cited = {tag for text in PACKAGE_TEXTS.values() for name, tag in cited_equations(text) if name == "mathematics"}
    assert numbers - cited == set(NOT_COMPUTED)


def test_every_public_function_with_a_formula_names_its_source():
    found = {name: functions_without_source(text) for name, text in PACKAGE_TEXTS.items()}
    assert {name: each for name, each in found.items() if each} == {}

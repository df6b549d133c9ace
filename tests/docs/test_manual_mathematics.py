"""The mathematics page and the docstrings that cite it as "spec" stay together."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "residualplanner"
PAGE = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")

#: Every mention of equations, and the form that all of them must have: "(8)", "(11) and (41)", "(15) to (17)".
MENTION = re.compile(r"spec eqs?\.")
CITATION = re.compile(r"spec eqs?\.\s+(\(\d+\)(?:(?:,\s+and|,|\s+and|\s+to)\s+\(\d+\))*)")
SECTION = re.compile(r"spec section\s+(\d+)")
#: What makes a docstring one with a formula, and what tells where the formula is from.
FORMULA = re.compile(r"sum_\w|sigma_\w|sqrt\(|sigma squared|Kronecker product|subtraction matrix")
ORIGIN = re.compile(r"Source: (spec|paper)|spec eqs?\.")
FORMULA_LAYERS = ("selection", "plan", "kron", "measurement", "reconstruction")


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py"))


def cited_equations(text: str) -> Iterator[str]:
    for citation in CITATION.finditer(text):
        for first, last in re.findall(r"\((\d+)\)(?:\s+to\s+\((\d+)\))?", citation[1]):
            yield from map(str, range(int(first), int(last or first) + 1))


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
    text = "spec eq. (8); spec eqs. (1), (2) and (4) to (6).  Also spec eqs. (10), and (12), spec eqs. (38) to (40)."
    assert list(cited_equations(text)) == ["8", "1", "2", "4", "5", "6", "10", "12", "38", "39", "40"]


def test_every_equation_that_a_module_cites_is_on_the_page():
    on_page = set(re.findall(r"\\tag\{(\d+)\}", PAGE))
    for path in sources("."):
        text = path.read_text(encoding="utf-8")
        assert len(MENTION.findall(text)) == len(CITATION.findall(text)), f"{path}: a citation is not of the usual form"
        assert sorted(set(cited_equations(text)) - on_page) == [], path


def test_every_section_that_a_module_cites_is_on_the_page():
    sections = set(re.findall(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE))
    for path in sources("."):
        assert sorted(set(SECTION.findall(path.read_text(encoding="utf-8"))) - sections) == [], path


def test_equations_and_sections_are_numbered_without_a_gap():
    numbers = sorted(map(int, re.findall(r"\\tag\{(\d+)\}", PAGE)))
    sections = list(map(int, re.findall(r"^## (\d+)\. ", PAGE, flags=re.MULTILINE)))
    assert numbers == list(range(1, len(numbers) + 1))
    assert sections == list(range(1, len(sections) + 1))


def test_every_theorem_on_the_page_has_a_proof_that_ends():
    assert PAGE.count("$\\square$") >= PAGE.count("*Proof")


def test_the_package_cites_the_page():
    assert sum(len(list(cited_equations(path.read_text(encoding="utf-8")))) for path in sources(".")) >= 40


def test_a_formula_without_its_source_is_noticed():
    function = 'class Noun:\n    def verb(self):\n        """Give ``sum_A p_A / s_A``.{}"""\n'
    assert functions_without_source(function.format("")) == ["verb"]
    assert functions_without_source(function.format("\n\n        Source: spec eq. (8).\n        ")) == []


@pytest.mark.parametrize("path", sources(*FORMULA_LAYERS), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_public_function_with_a_formula_names_its_source(path):
    assert functions_without_source(path.read_text(encoding="utf-8")) == []

"""What the site does to pages and docstrings before Sphinx reads them."""

import doctest
import importlib
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

pytest.importorskip("sphinx", reason="the packages of the extra docs are not installed")

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "_extensions"


@pytest.fixture(autouse=True)
def path_of_extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", ["contents", "docstrings", "mathml", "public_names", "search_order"])
def test_examples_of_the_extensions_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def words(tex: str) -> str:
    """The characters of a formula in the order in which they are read aloud."""
    formula = sys.modules["mathml"].mathml(tex, as_block=False)
    return "".join("".join(fromstring(formula).itertext()).split())


@pytest.mark.parametrize(
    ("tex", "read"),
    [
        (r"\tfrac12", "12"),
        (r"\big(\tfrac12\big)", "(12)"),
        (r"A' \subseteq A", "A′⊆A"),
        (r"A \setminus \{j\}", "A\\{j}"),
        (r"_\otimes", "⊗"),
        (r"\hat v_A^2", "vˆA2"),
        (r"1, \dots, n", "1,…,n"),
    ],
)
def test_formulas_keep_all_their_signs(tex, read):
    importlib.import_module("mathml")
    assert words(tex) == read


def test_two_digits_after_a_fraction_are_two_numbers_and_bars_of_norms_do_not_stretch():
    mathml = importlib.import_module("mathml").mathml
    (fraction,) = fromstring(mathml(r"\tfrac12", as_block=False))
    assert [part.text for part in fraction] == ["1", "2"]
    norms = fromstring(mathml(r"\| S \|^2 \lvert A \rvert", as_block=False))
    assert [part.get("stretchy") for part in norms.iter() if part.text in "‖|"] == ["false"] * 4


def test_a_docstring_becomes_what_napoleon_reads():
    lines = ["Do it.", "", "Args:", "    matrix (m, n): what.", "", "Cost: O(n).", "Source: eqs. (8) and (11)."]
    importlib.import_module("docstrings").rewrite(None, "function", "", None, None, lines)
    assert lines[3] == "    matrix: ``(m, n)``: what."
    assert "**Cost.** O(n)." in lines
    assert "**Source.** eqs. :ref:`(8) <equation-8>` and :ref:`(11) <equation-11>`." in lines
    assert lines[lines.index("**Cost.** O(n).") - 1] == ""


def test_a_page_that_is_listed_by_number_keeps_its_title_and_sections_without_pages_make_no_contents():
    toctrees = importlib.import_module("contents").toctrees
    assert "\nfirst\n" in toctrees("# Decisions\n\n| [0001](first.md) | what was decided |\n")
    assert toctrees("# Title\n\n## Words\n\n| [paper](https://example.org/paper.md) |\n") == ""

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

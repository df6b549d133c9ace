"""The page of notation is true: words and statements once each, and functions that exist."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")

#: What the paper numbers, read off it.
STATEMENTS = [
    *(f"Definition {number}" for number in range(1, 6)),
    *(f"Theorem {number}" for number in ("4.1", "4.2", "4.3", "4.4", "4.5", "5.1", "7.1", "7.2", "B.1")),
    *(f"Lemma {number}" for number in range(1, 8)),
    *(f"Algorithm {number}" for number in range(1, 7)),
    *(f"Example {number}" for number in range(1, 4)),
    *(f"Remark {number}" for number in range(1, 3)),
    *(f"Equation {number}" for number in range(1, 14)),
]
PAPER = "The paper, statement by statement"
FUNCTION = re.compile(r"`(residualplanner/[\w/]+\.py):([\w.]+)`")


def rows(heading: str) -> list[list[str]]:
    """The cells of the tables under a heading, without the tables' own heads."""
    (part,) = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^\|(.*)\|$", part, flags=re.MULTILINE)
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    rules = [number for number, line in enumerate(lines) if set(line) <= set("-:|")]
    return [row for number, row in enumerate(cells) if number not in rules and number + 1 not in rules]


@cache
def module(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def definitions(path: str, name: str) -> list[ast.AST]:
    """The module and the class, function or method of that dotted name in it; none where it does not exist."""
    if not (ROOT / path).exists():
        return []
    found: list[ast.AST] = [module(path)]
    for part in name.split("."):
        members = [node for node in found[-1].body if getattr(node, "name", None) == part]
        if not members:
            return []
        found.append(members[-1])
    return found


def statements(cell: str) -> list[str]:
    """The statements of a row, one by one: "Lemmas 4 to 7" are four."""
    kind, numbers = cell.split(" ", 1)
    first, _, last = numbers.replace("(", "").replace(")", "").partition(" to ")
    each = map(str, range(int(first), int(last) + 1)) if last else first.split(" and ")
    return [f"{kind.removesuffix('s')} {number}" for number in each]


@cache
def identifiers() -> frozenset[str]:
    """Every name and every string of one word in the package."""
    found = set()
    for path in (ROOT / "residualplanner").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found |= {getattr(node, field, None) for field in ("name", "id", "attr", "arg")}
            found.add(node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None)
    return frozenset(found - {None})


def test_a_row_about_several_statements_is_read_as_such():
    assert statements("Lemmas 4 to 6") == ["Lemma 4", "Lemma 5", "Lemma 6"]
    assert statements("Equations (3) and (9)") == ["Equation 3", "Equation 9"]
    assert statements("Theorem B.1") == ["Theorem B.1"]


def test_the_statements_of_the_paper_are_all_there_once():
    found = [each for row in rows(PAPER) for each in statements(row[0])]
    assert sorted(found) == sorted(STATEMENTS)


def test_a_row_names_functions_that_exist_or_says_why_there_is_none():
    for row in rows(PAPER):
        named = FUNCTION.findall(row[-1])
        assert named or re.match(r"none( as such)?: \w", row[-1]), row
        assert row[-1].count(".py") == len(named), row
        assert [found for found in named if not definitions(*found)] == [], row


def test_the_glossary_defines_every_word_once_in_names_of_the_code():
    glossary = rows("Glossary")
    words = [word for row in glossary for word in row[0].split(", ")]
    assert sorted(words) == sorted(set(words))
    assert {name for row in glossary for name in re.findall(r"`(\w+)`", row[2])} - identifiers() == set()

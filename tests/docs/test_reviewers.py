"""The page for reviewers names proofs and tests that exist, and the folders whose code sees records."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks import sampler_faults
from test_architecture import SEE_RECORDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reviewers.md").read_text(encoding="utf-8")
CLAIMS = "What is claimed, where it is proved and tested"
#: A link to an equation, with the number that readers see.
EQUATION = re.compile(r"\[\((\w+)\)\]\(([\w-]+)\.md#equation-(\w+)\)")
#: Equations with letters, in words behind the name of their page: "(a) to (d) and (h)".
LETTERS = re.compile(r"\]\(([\w-]+)\.md[^)]*\)((?:(?: to| and|,)? \([a-z]\))+)")
PATH = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|json))`")
COMMAND = re.compile(r"python -m benchmarks\.(\w+)")


@cache
def manual(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def rows_of_claims(page: str) -> list[list[str]]:
    """The cells of all tables of claims: claim, proof, tests."""
    (part,) = re.findall(rf"^## {CLAIMS}$(.*?)(?=^## )", page, flags=re.MULTILINE | re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    return [row for row in rows if row[0] != "claim" and set(row[0]) - set("-: ")]


def wrong_equations(page: str) -> list[str]:
    """Equations that do not exist, or whose link leads to another one."""
    cited = EQUATION.findall(page)
    found = [f"({shown}) leads to ({tag})" for shown, _, tag in cited if shown != tag]
    found += [f"{name} ({tag})" for _, name, tag in cited if rf"\tag{{{tag}}}" not in manual(name)]
    for name, letters in LETTERS.findall(page):
        found += [
            f"{name} ({tag})" for tag in re.findall(r"\w(?=\))", letters) if rf"\tag{{{tag}}}" not in manual(name)
        ]
    return found


def has_a_test(path: Path) -> bool:
    """Whether pytest finds a test in a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ()
    return any(getattr(node, "name", "").startswith(("test_", "Test")) for node in nodes)


def without_a_test(page: str) -> list[str]:
    """The files of tests that the tables of claims name, and that are none."""
    named = [path for row in rows_of_claims(page) for path in PATH.findall(row[2])]
    return [path for path in named if not has_a_test(ROOT / "tests" / path)]


def missing_paths(page: str) -> list[str]:
    """Paths, commands and folders elsewhere on the page that do not exist."""
    elsewhere = page.replace(page.partition(f"## {CLAIMS}")[2].partition("\n## ")[0], "")
    paths = [*PATH.findall(elsewhere), *(f"benchmarks/{name}.py" for name in COMMAND.findall(page))]
    return [path for path in paths if not (ROOT / path).exists()]


def test_every_claim_has_a_proof_or_says_that_there_is_none_and_has_a_test():
    rows = rows_of_claims(PAGE)
    assert len(rows) > 30
    assert {len(row) for row in rows} == {3}
    assert len({row[0] for row in rows}) == len(rows)
    for claim, proof, tests in rows:
        assert proof.startswith("none: ") or re.search(r"\]\([\w-]+\.md", proof), claim
        assert PATH.findall(tests), claim


def test_equations_on_the_page_exist():
    assert wrong_equations(PAGE) == []
    assert len(EQUATION.findall(PAGE)) > 15
    assert len(LETTERS.findall(PAGE)) == 2


def test_files_of_tests_and_commands_on_the_page_exist():
    assert without_a_test(PAGE) == []
    assert missing_paths(PAGE) == []


def test_the_folders_that_see_records_are_those_of_the_test_of_imports():
    (listed,) = re.findall(r"<!-- folders -->(.*?)<!-- end -->", PAGE, flags=re.DOTALL)
    assert sorted(re.findall(r"`([\w/]+)`", listed)) == sorted(SEE_RECORDS)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("[(8)](mathematics.md#equation-8)", "[(8)](mathematics.md#equation-9)", wrong_equations),
        ("[(8)](mathematics.md#equation-8)", "[(888)](mathematics.md#equation-888)", wrong_equations),
        ("(a) to (f)", "(a) to (z)", wrong_equations),
        ("`gate/measurement/test_bases.py`", "`gate/measurement/test_basis.py`", without_a_test),
        ("`test_whole_output.py`", "`steps.py`", without_a_test),
        ("residualplanner/gate/spend.py", "residualplanner/gate/spending.py", missing_paths),
        ("python -m benchmarks.audit`", "python -m benchmarks.audits`", missing_paths),
    ],
)
def test_what_does_not_exist_is_found(old, new, found):
    assert old in PAGE
    assert found(PAGE.replace(old, new))


@pytest.mark.parametrize("fault", sampler_faults.FAULTS, ids=lambda fault: fault.name)
def test_every_fault_of_the_sampler_can_be_planted(fault):
    source = (ROOT / sampler_faults.SAMPLER / fault.file).read_text(encoding="utf-8")
    assert sampler_faults.planted(source, fault) != source


def test_in_the_copy_of_the_sampler_its_tests_pass_without_a_fault():
    nothing = sampler_faults.Fault("none", "bits.py", "self._seen or ", "self._seen or  ", ("test_bits.py",))
    assert sampler_faults.noticed_by(nothing) == ""

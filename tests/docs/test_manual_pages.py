"""The manual is true: its code runs, the output it shows is compared, its links lead somewhere.

Blocks of a page share their names and a folder of their own.  A ``python`` block runs, and what it shows after ``>>>``
is compared.  A ``console`` block runs the commands after ``$``, which must succeed, and compares the output where some
is shown.  A ``toml`` block whose first line is ``# NAME.toml`` is saved under that name.
"""

import os
import re
import shlex
import subprocess
import sys
import warnings
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest
from sybil import Example, Sybil
from sybil.example import SybilFailure
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser

import residualplanner as rp
from command_line import outcome
from residualplanner.ground.format_version import FORMAT_VERSION

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(MANUAL.rglob("*.md"))]
FLAGS = ELLIPSIS | NORMALIZE_WHITESPACE
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")


#: What commands run in: no color, and 120 columns.
SHOWN = {"NO_COLOR": "1", "COLUMNS": "120"}


@pytest.fixture(scope="module")
def commands():
    """The command of the page is on the path of shells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        yield


#: How pages show what a command says that fails.
FAILS = re.compile(r' 2>&1( >/dev/null)? \|\| echo "status \$\?"$')


def status_and_text(command: str) -> tuple[int, str, str]:
    """The status of a command, and what it writes; the library's own need no shell, and are run in this process."""
    bare, fails = FAILS.sub("", command), FAILS.search(command)
    if not bare.startswith("residualplanner ") or re.search(r"[|&;<>*$]", bare):
        environment = {**os.environ, **SHOWN, "PYTHONWARNINGS": "error"}
        done = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, done.stdout, done.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as `main` does
        found = outcome(*shlex.split(bare)[1:], **SHOWN)
    if fails:
        return 0, f"{'' if fails[1] else found.stdout}{found.stderr}status {found.exit_code}\n", ""
    return found.exit_code, found.stdout, found.stderr + (f"{found.exception!r}" if found.exception else "")


def run_commands(example: Example) -> str | None:
    for step in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        status, told, complained = status_and_text(command)
        if status != 0:
            return f"{command!r} ended with status {status}:\n{told}{complained}"
        if shown.strip() and not OutputChecker().check_output(shown.strip(), told.strip(), FLAGS):
            return f"{command!r}\nexpected:\n{shown}\ngot:\n{told}"
    return None


def save_file(example: Example) -> None:
    name = re.match(r"# (\w+\.toml)\n", example.parsed)
    if name:
        Path(name[1]).write_text(example.parsed, encoding="utf-8")


MANUAL_PARSER = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
        CodeBlockParser(language="console", evaluator=run_commands),
        CodeBlockParser(language="toml", evaluator=save_file),
    ]
)


def run_page(page: Path) -> int:
    """Run a page in the current folder; how many examples it has."""
    examples = list(MANUAL_PARSER.parse(page).examples())
    for example in examples:
        example.evaluate()
    return len(examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_runs_and_shows_what_it_says(page, commands, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_to_a_file(page):
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


WITH_NUMBERS = (
    "quick-start tutorial-census tutorial-errors tutorial-fairness tutorial-ranges-and-regions choosing queries data "
    "bases pitfalls mathematics files tables many-tables several-measurements"
)


@pytest.mark.parametrize("name", WITH_NUMBERS.split())
def test_pages_that_show_numbers_have_examples(name):
    assert len(list(MANUAL_PARSER.parse(MANUAL / f"{name}.md").examples())) >= 3


@pytest.mark.parametrize(
    "block",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nraise ValueError\n```\n",
        "```python\nimport warnings\nwarnings.warn('careful')\n```\n",
        "```console\n$ echo two\nthree\n```\n",
        "```console\n$ false\n```\n",
    ],
)
def test_an_example_that_is_wrong_fails(block, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((SybilFailure, ValueError, UserWarning)):
        run_page(page)


def test_the_manual_states_the_present_version_of_files():
    text = " ".join((MANUAL / "files.md").read_text(encoding="utf-8").split())
    assert f"All files have format version {FORMAT_VERSION}" in text


def test_the_table_of_kinds_has_every_kind_of_query_and_nothing_else():
    public = {
        name
        for room in (rp, rp.statistics)
        for name in room.__all__
        if callable(getattr(getattr(room, name), "gram", None))
    }
    rows = [line for line in (MANUAL / "queries.md").read_text().splitlines() if line.startswith("| `rp.")]
    assert {re.match(r"\| `rp\.(statistics\.)?(\w+)", line)[2] for line in rows} == public


def test_an_example_that_is_right_passes(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(
        "```toml\n# spec.toml\na = 1\n```\n\n```console\n$ cat spec.toml\n# spec.toml\na = ...\n```\n\n"
        "```python\nb = 2\n```\n\n```python\n>>> b\n2\n```\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert run_page(page) == 4

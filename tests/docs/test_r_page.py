"""The R code of the tutorial reads what the library writes, and shows what the page says.

Blocks of the page run in one R session, in the folder in which the page's Python has written the release.  Lines that
begin with ``#>`` are compared with what the block prints.
"""

import os
import re
import shutil
import subprocess
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial-r.md"
MARK = "<<end of block>>"
PYTHON = Sybil(parsers=[PythonCodeBlockParser()])


def r_blocks(text: str) -> list[tuple[str, str]]:
    """The code of every block, and what it shows."""
    blocks = re.findall(r"^```r\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    shown = ["\n".join(re.findall(r"^#> ?(.*)$", block, flags=re.MULTILINE)) for block in blocks]
    return list(zip(blocks, shown, strict=True))


def run_r(blocks: list[str]) -> list[str]:
    """What each block prints; an error or a warning of R fails."""
    script = f'cat("{MARK}\\n")\n'.join(["options(warn = 2, width = 100)\n", *blocks])
    Path("page.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "--vanilla", "page.R"],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{MARK}\n")[1:]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not on this machine")
def test_the_r_code_of_the_page_runs_and_shows_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for example in PYTHON.parse(PAGE).examples():
        example.evaluate()
    blocks = r_blocks(PAGE.read_text(encoding="utf-8"))
    printed = run_r([code for code, _ in blocks])
    for (code, shown), got in zip(blocks, printed, strict=True):
        assert OutputChecker().check_output(shown, got.strip(), ELLIPSIS | NORMALIZE_WHITESPACE), f"{code}\ngot:\n{got}"


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not on this machine")
def test_r_code_that_is_wrong_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="not found"):
        run_r(["no_such_name\n"])


def test_the_page_has_r_code_that_shows_something():
    shown = [shown for _, shown in r_blocks(PAGE.read_text(encoding="utf-8")) if shown]
    assert len(shown) >= 4

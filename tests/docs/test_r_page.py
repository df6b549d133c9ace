"""The R code of the manual reads what the library writes, and shows what the pages say.

Blocks of a page run in one R session, in the folder in which the page's Python has written its releases.  Lines that
begin with ``#>`` are compared with what the block prints.  Blocks that need a package of R which is not installed are
left out, and the test then says so and counts as skipped, not as passed.
"""

import os
import re
import shutil
import subprocess
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import NamedTuple

import pytest
from sybil import Sybil
from sybil.parsers.myst import PythonCodeBlockParser

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("tutorial-r.md", "tables.md", "many-tables.md")
MARK = "<<end of block>>"
PYTHON = Sybil(parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)])
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not on this machine")


class Block(NamedTuple):
    """R code on a page."""

    code: str
    shown: str  # what the page says it prints
    packages: frozenset[str]  # what it calls with `package::`


def r_blocks(text: str) -> list[Block]:
    """Every block of a page, in order."""
    codes = re.findall(r"^```r\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    shown = ["\n".join(re.findall(r"^#> ?(.*)$", code, flags=re.MULTILINE)) for code in codes]
    packages = [frozenset(re.findall(r"\b([a-z]\w+)::", code)) for code in codes]
    return list(map(Block, codes, shown, packages))


def run_r(blocks: list[str]) -> list[str]:
    """What each block prints; an error or a warning of R fails."""
    script = f'cat("{MARK}\\n")\n'.join(["options(warn = 2, width = 100)\n", *blocks])
    Path("page.R").write_text(script, encoding="utf-8")
    command, environment = ["Rscript", "--vanilla", "page.R"], {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(f"{MARK}\n")[1:]


def packages_that_r_lacks(packages: frozenset[str]) -> set[str]:
    """Those of some packages that are not installed."""
    names = sorted(packages)
    installed = run_r([f'cat(requireNamespace("{name}", quietly = TRUE))\n' for name in names]) if names else []
    return {name for name, found in zip(names, installed, strict=True) if found.strip() != "TRUE"}


@needs_r
@pytest.mark.parametrize("page", PAGES)
def test_the_r_code_of_a_page_runs_and_shows_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = r_blocks((DOCS / page).read_text(encoding="utf-8"))
    lacking = packages_that_r_lacks(frozenset().union(*(block.packages for block in blocks)))
    runnable = [block for block in blocks if not block.packages & lacking]
    for example in PYTHON.parse(DOCS / page).examples():
        example.evaluate()
    for block, printed in zip(runnable, run_r([block.code for block in runnable]), strict=True):
        assert OutputChecker().check_output(block.shown, printed.strip(), ELLIPSIS | NORMALIZE_WHITESPACE), (
            f"{block.code}\nprinted:\n{printed}"
        )
    if lacking:
        pytest.skip(f"R has no package {', '.join(sorted(lacking))}; {len(runnable)} of {len(blocks)} blocks ran")


def test_every_page_with_r_code_is_run_and_the_tutorial_shows_something():
    texts = {page.name: page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")}
    assert {name for name, text in texts.items() if r_blocks(text)} == set(PAGES)
    for name, text in texts.items():
        others = re.sub(r"^```r\n.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"^\w+ <- |\b[a-z]\w+::[a-z]", others, flags=re.MULTILINE), name
    blocks = r_blocks(texts["tutorial-r.md"])
    assert sum(1 for block in blocks if block.shown) >= 4
    assert frozenset().union(*(block.packages for block in blocks)) >= {"arrow", "nanoparquet", "readr", "jsonlite"}

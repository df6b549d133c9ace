"""Shells complete commands, options, losses and budgets."""

import os
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "residualplanner"]


def _run(*arguments, **environment):
    chosen = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", **environment}
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=chosen, check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_shown(shell):
    script = _run("--show-completion", shell)
    assert f"_RESIDUALPLANNER_COMPLETE=complete_{shell}" in script
    assert "residualplanner" in script


def test_it_is_installed_where_the_shell_finds_it(tmp_path):
    _run("--install-completion", "bash", HOME=str(tmp_path))
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert "complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("residualplanner re", ["reconstruct", "release", "report"]),
        ("residualplanner plan --loss ", ["sum", "max", "sqrt", "equal"]),
        ("residualplanner plan --loss s", ["sum", "sqrt"]),
        ("residualplanner release --budget ", ["zcdp=", "pcost=", "epsilon="]),
        ("residualplanner release --dr", ["--dry-run"]),
    ],
)
def test_words_are_completed(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    assert _run(_RESIDUALPLANNER_COMPLETE="complete_bash", **words).split() == offered

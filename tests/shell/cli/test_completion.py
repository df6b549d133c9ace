"""Shells complete commands, options and losses."""

import pytest
from typer.testing import CliRunner

from shell.specs import app


@pytest.fixture(autouse=True)
def shell_by_name(monkeypatch):
    """The shell is the one that is named, not the one that runs the tests."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")


def _run(*arguments, **environment):
    result = CliRunner().invoke(app.app, arguments, prog_name="residualplanner", env=environment)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("residualplanner re", ["reconstruct", "release", "report"]),
        ("residualplanner plan --loss ", ["sum", "max", "sqrt", "equal"]),
        ("residualplanner plan --loss s", ["sum", "sqrt"]),
        ("residualplanner release --dr", ["--dry-run"]),
    ],
)
def test_words_are_completed(typed, offered):
    assert "_RESIDUALPLANNER_COMPLETE=complete_bash" in _run("--show-completion", "bash")
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    assert _run(_RESIDUALPLANNER_COMPLETE="complete_bash", **words).split() == offered

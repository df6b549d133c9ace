"""A small release: a spec, its records, and a way to run commands in an empty folder."""

import random

import pytest
from typer.testing import CliRunner

from residualplanner.shell.cli.app import app

SPEC = """\
budget = { zcdp = "0.5" }
loss = "sum"

[domain]
age = { bins = [0, 18, 65, inf] }
sex = ["F", "M"]
region = { labels = ["01", "02", "NO", "?"], unknown = "?", missing = "?" }
grade = 5

[[workload]]
up_to = 2

[output]
format = "csv"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spec(folder):
    """A spec in the folder."""
    (folder / "spec.toml").write_text(SPEC)
    return folder / "spec.toml"


@pytest.fixture
def records(folder):
    """Records in the folder that fit the spec."""
    draw = random.Random(7)
    lines = [
        f"{draw.randrange(90)},{draw.choice('FM')},{draw.choice(['01', '02', 'NO'])},{draw.randrange(5)}"
        for _ in range(500)
    ]
    (folder / "records.csv").write_text("\n".join(["age,sex,region,grade", *lines]) + "\n")
    return folder / "records.csv"


@pytest.fixture
def spoil(records):
    """Make the records such that whoever reads them refuses them, and says nothing else."""
    return lambda: records.write_text("age,sex,region,grade\nolder,none,nowhere,high\n")


@pytest.fixture
def run():
    """Run a command in this process, which has to end with the status, if one is given."""
    runner = CliRunner()

    def run(*arguments, status=None):
        result = runner.invoke(app, [str(argument) for argument in arguments])
        assert status in (None, result.exit_code), result.output
        return result

    return run

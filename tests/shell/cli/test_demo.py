"""The demo tells the whole flow, and leaves files that the other commands read."""

import pandas as pd
import pytest


def test_the_demo_writes_what_it_says(run, folder):
    result = run("demo", "--order", "2", status=0)
    made = folder / "residualplanner-demo"
    for name in ("adult.toml", "adult.plan", "adult.parquet", "release/errors.csv", "release/index.csv"):
        assert name in result.stdout
        assert (made / name).is_file()
    written = {f"release/{path.name}" + "/" * path.is_dir() for path in (made / "release").iterdir()}
    assert written == {line.split()[0] for line in result.stdout.splitlines() if line.startswith("  release/")}
    assert len(pd.read_csv(made / "release" / "index.csv")) == 1 + 14 + 91
    assert len(list((made / "release" / "tables").iterdir())) == 106
    assert "32,650" not in result.stdout  # the true margin is not told, only the cells of one table
    assert "14,423" in result.stdout  # its cell Female, <=50K


@pytest.mark.slow
def test_the_commands_that_the_demo_recommends_work(run, folder):
    told = run("demo", "-o", "d", "--order", "1").stdout
    commands = [line.split()[1:] for line in told.splitlines() if line.strip().startswith("residualplanner ")]
    assert [command[0] for command in commands] == ["report", "plan", "release", "init"]
    (folder / "YOUR.csv").write_text("age,sex\n31,F\n")
    for command in commands:
        run(*command, status=0)


def test_the_demo_overwrites_nothing(run, folder):
    (folder / "residualplanner-demo").mkdir()
    (folder / "residualplanner-demo" / "mine").write_text("mine")
    result = run("demo", status=2)
    assert "residualplanner-demo is not empty; name a new folder" in result.stderr

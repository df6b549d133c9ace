"""Weights of records and people with several of them, in specs and on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from shell.specs import events, told

SPEC = """\
budget = {{ pcost = {pcost} }}
people = {{ person = "id", keep = 2, order = "day" }}
weight = {{ column = "hours", maximum = 60, unit = "0.5", above = "clip" }}
{more}
[[workload]]
up_to = 1
[domain]
job = 3
"""


def records():
    """The first two days of person 1 have 60 and 7.5 hours."""
    return pd.DataFrame({"id": [1, 1, 1, 2], "job": [0, 1, 2, 2], "day": [1, 2, 3, 9], "hours": [90, 7.5, 1, 0.5]})


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records().to_csv("records.csv", index=False)
    (tmp_path / "spec.toml").write_text(SPEC.format(pcost=10**10, more=""))
    return tmp_path


def totals(folder):
    return rp.load_tables(folder)["job"].estimate.round(1).tolist()


def measuring_after(result):
    """The last of the commands that are told to come next."""
    return [event["command"] for event in events(result) if event["event"] == "next"][-1]


def test_the_next_command_after_a_plan_keeps_the_records_of_each_person(written, run):
    command = measuring_after(run("plan", "spec.toml", "--json"))
    assert "--person id --order day" in command
    words = [*command.replace("DATA", "records.csv").split()[1:], "--quiet"]
    run(*words, status=0)
    estimates = rp.reconstruct(rp.load_measurement("spec.measurement"))["job"].estimate
    assert estimates == pytest.approx(np.array([60, 7.5, 0.5]), abs=0.2)
    assert "Records are weighted by 'hours', at most 60" in run("plan", "spec.toml", "-o", "p").stdout.replace(
        "\n", " "
    )
    assert rp.load_plan("p").neighbors.records_per_person == 2
    assert (pd.read_csv(written / "p.errors.csv")["unit"] == "'hours'").all()


MEASURE = ("measure", "spec.plan", "records.csv", "-o", "new", "--person", "id", "--order", "day")
RELEASE = ("release", "spec.toml", "records.csv", "-o", "new")


@pytest.mark.parametrize("command", [MEASURE, RELEASE])
def test_a_dry_run_says_whose_records_are_counted_as_the_run_does(written, run, command):
    run("plan", "spec.toml", "--quiet")
    dry, real = told(run(*command, "--dry-run", "--json")), told(run(*command, "--json"))
    assert dry["people"] == real["people"]
    assert dry["people"]["text"] == "at most 2 records of each id count, the first by day"
    assert dry["would-read"]["columns"] == ["job", "hours", "id", "day"]


@pytest.mark.parametrize("command", [MEASURE, RELEASE])
@pytest.mark.parametrize("column", ["id", "day"])
def test_a_missing_column_of_persons_or_order_is_refused_as_the_run_refuses_it(written, run, command, column):
    run("plan", "spec.toml", "--quiet")
    records().drop(columns=column).to_csv("records.csv", index=False)
    dry, real = run(*command, "--dry-run"), run(*command)
    assert (dry.exit_code, dry.stderr) == (2, real.stderr.removesuffix("Nothing was written.\n"))
    assert f"records.csv: column '{column}' is missing from the data" in dry.stderr


def test_a_promise_that_nothing_keeps_is_called_one(written, run):
    (written / "spec.toml").write_text(
        SPEC.format(pcost=1, more="records_per_person = 2").replace("people", "# people")
    )
    run("plan", "spec.toml", "--quiet")
    for command in (MEASURE[:5], RELEASE):
        assert "is a promise that nothing checks" in run(*command, "--dry-run").stdout
    (written / "spec.toml").write_text(SPEC.format(pcost=1, more="").replace("people", "# people"))
    assert "People" not in run(*RELEASE).stdout
    assert "people" not in json.loads((written / "new" / "manifest.json").read_text())["noise"]


SAYS = "Of each person (column 'id') at most 2 records are counted, the first by 'day'."


def test_whatever_is_published_says_which_records_of_a_person_are_counted(written, run):
    assert SAYS in run(*RELEASE).stdout
    manifest, metadata = (
        json.loads((written / "new" / name).read_text()) for name in ("manifest.json", "metadata.json")
    )
    assert manifest["noise"]["people"] == {"person": "id", "keep": 2, "order": "day"}
    assert SAYS in manifest["noise"]["guarantee"]
    assert SAYS in json.dumps(metadata)
    assert SAYS in rp.load_tables("new").noise.sentence
    rp.publish.write_report("new", "page.html")
    assert SAYS.replace("'", "&#39;") in (written / "page.html").read_text()


def test_a_key_makes_the_choice_that_it_makes_in_python(written, run):
    """Of 30 persons with three records each one is chosen at random: another choice is as good as sure otherwise."""
    people = pd.DataFrame({"id": np.repeat(np.arange(30), 3), "job": np.tile([0, 1, 2], 30), "day": 0, "hours": 1})
    people.to_csv("records.csv", index=False)
    spec = SPEC.format(pcost=10**10, more="").replace('keep = 2, order = "day"', f'keep = 1, key = "{"7f" * 32}"')
    (written / "spec.toml").write_text(spec)
    run("release", "spec.toml", "records.csv", "-o", "tables")
    run("plan", "spec.toml", "-o", "p.plan")
    limited = rp.LimitedRecords(people, person="id", key=bytes.fromhex("7f" * 32))
    estimates = rp.reconstruct(rp.measure(rp.load_plan("p.plan"), limited))["job"].estimate
    assert totals(written / "tables") == pytest.approx(estimates, abs=0.3)
    command = measuring_after(run("plan", "spec.toml", "--json"))
    run(*command.replace("DATA", "records.csv").split()[1:], "--quiet", status=0)
    assert rp.reconstruct(rp.load_measurement("spec.measurement"))["job"].estimate == pytest.approx(estimates, abs=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--person", "id", "--key", "0x" + "7" * 62], "--key: 64 hexadecimal digits"),
        (["--key", "7f" * 32], "--key is for the records of each person; name the column of persons"),
        (["--order", "day"], "--order is for the records of each person; name the column of persons with --person"),
        (["--person", "id", "--order", "id"], "order them by another column"),
    ],
)
def test_options_on_people_that_mean_nothing_are_refused_before_the_charge(written, run, options, message):
    run("plan", "spec.toml", "--quiet")
    run("ledger", "l", "--create", "jobs", "--budget", f"pcost={2 * 10**10}")
    refused = run("measure", "spec.plan", "records.csv", "-o", "new", "--ledger", "l", *options, status=2)
    assert message in refused.stderr.replace("\n", " ")
    assert not rp.Ledger.open("l").entries

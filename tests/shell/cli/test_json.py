"""With --json every message and every error is one JSON object a line, and none of them depends on the records."""

import json
import math
from fractions import Fraction

import pytest

from residualplanner import Ledger, load_plan
from shell.specs import output

CANARY = "canary-90ab"


def _events(text):
    told = [json.loads(line) for line in text.splitlines()]
    assert all(isinstance(each, dict) and {"event", "text"} <= set(each) for each in told)
    assert not any("\n" in each["text"] or "  " in each["text"] for each in told)
    return told


def _named(told, event):
    (found,) = [each for each in told if each["event"] == event]
    return found


def test_a_plan_is_told_in_numbers(run, spec, folder):
    told = _events(run("plan", spec, "--json").stdout)
    plan = load_plan(folder / "spec.plan")
    assert _named(told, "workload")["tables"] == 11
    budget = _named(told, "budget")
    assert (budget["statement"], budget["rho"], budget["neighbors"]) == ("0.5-zCDP", 0.5, "add-remove")
    assert _named(told, "cost")["pcost"] == plan.pcost
    assert _named(told, "accuracy")["rmse"] == plan.rmse
    assert _named(told, "wrote")["path"] == str(folder / "spec.plan")
    assert _named(told, "wrote")["also"] == [str(folder / "spec.plan.errors.csv")]
    tables = [each for each in told if each["event"] == "accuracy-of-table"]
    assert [each["moe"] for each in tables] == plan.errors()["moe"].head(10).tolist()
    assert [each["text"] for each in told if each["event"] == "done"] == [
        "choosing the noise",
        "computing the error table",
        "writing the plan",
    ]
    assert all(each["seconds"] >= 0 for each in told if each["event"] == "done")


def test_a_release_is_told_in_numbers(run, spec, records, folder):
    run("ledger", "l", "--create", "census", "--budget", "zcdp=1")
    told = _events(run("release", spec, records, "-o", "out", "--ledger", "l", "--json").stdout)
    entry = Ledger.open(folder / "l").entries[0]
    charged = _named(told, "charged")
    assert (Fraction(charged["pcost"]), charged["entry"]) == (entry.cost, 1)
    assert Fraction(charged["left"]) == 2 - entry.cost
    assert _named(told, "spent")["pcost"] == 1
    assert _named(told, "wrote")["path"] == "out"
    assert _named(told, "next")["command"] == "residualplanner report out"
    shown = _events(run("ledger", "l", "--json").stdout)
    assert _named(shown, "entry")["plan_sha256"] == entry.plan_sha256
    assert Fraction(_named(shown, "spent")["pcost"]) == entry.cost


def test_what_is_told_while_measuring_and_how_much_is_written_is_the_same_whatever_the_records(
    run, spec, records, folder
):
    run("plan", spec, "-o", "p")
    (folder / "none.csv").write_text("age,sex,region,grade\n")
    logs, sizes = set(), set()
    for form in ((), ("--json",)):
        for data in (records, folder / "none.csv"):
            logs.add(run("measure", "p", data, "-o", "m", *form, status=0).stdout)
            sizes.add((folder / "m").stat().st_size)
            (folder / "m").unlink()
    assert (len(logs), len(sizes)) == (2, 1)
    told = _events(max(logs, key=lambda log: log.startswith("{")))
    assert 1 <= len([each for each in told if each["event"] == "progress"]) <= 10
    assert not any("seconds" in each for each in told)


@pytest.mark.parametrize("form", [("--json",), ("--quiet",), ("--quiet", "--json")])
def test_every_command_tells_only_events_and_nothing_where_it_is_quiet(run, spec, records, folder, form):
    for command in (
        ("init", records, "--header", "-o", "s.toml"),
        ("plan", spec, "-o", "p"),
        ("measure", "p", records, "-o", "m"),
        ("reconstruct", "m", "-o", "t"),
        ("release", spec, records, "-o", "out"),
    ):
        result = run(*command, *form, status=0)
        assert result.stderr == ""
        assert bool(result.stdout) == ("--quiet" not in form)
        assert len(_events(result.stdout)) >= 2 * ("--quiet" not in form)


@pytest.mark.parametrize(
    ("arguments", "kind", "status", "word"),
    [
        (("plan", "absent.toml"), "FileNotFoundError", 2, "there is no file absent.toml"),
        (("plan", "records.csv"), "FileFormatError", 2, "records.csv is a CSV file"),
        (("release", "spec.toml", "bad.csv", "-o", "out"), "DataError", 2, "'sex'"),
        (("plan", "spec.toml", "--frobnicate"), "UsageError", 2, "--frobnicate"),
        (("plan",), "UsageError", 2, "SPEC"),
    ],
)
def test_an_error_is_one_object_on_standard_error(run, spec, records, folder, arguments, kind, status, word):
    (folder / "bad.csv").write_text(f"age,sex,region,grade\n30,{CANARY},01,0\n")
    plain, result = run(*arguments), run(*arguments, "--json")
    assert result.exit_code == plain.exit_code == status
    (told,) = _events(result.stderr)
    assert (told["event"], told["kind"], told["status"]) == ("error", kind, status)
    assert word in told["text"]
    assert CANARY not in result.output


@pytest.mark.parametrize("total", [1, 3, 10, 1234])
@pytest.mark.parametrize("stride", [1, 7])
def test_progress_on_records_depends_on_the_number_of_steps_alone(capsys, total, stride):
    with output.Output(as_json=True).progress("measuring", is_private=True) as progress:
        for done in [*range(1, total, stride), total]:
            progress(done, total)
    told = _events(capsys.readouterr().out)[:-1]
    assert [each["done"] for each in told] == [math.ceil(tenth * total / 10) for tenth in range(1, 11)]

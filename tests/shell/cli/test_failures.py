"""What goes wrong ends in a clean message, status 1 or 2, no half output, and no record's value anywhere."""

import os
import signal
import subprocess
import sys
import time

import pytest

import residualplanner as rp

CANARY = "canary-5d3f"


def _refused(result, *words):
    assert result.exit_code == 2, result.output
    _is_clean(result, *words)


def _failed(result, *words):
    assert result.exit_code == 1, result.output
    _is_clean(result, *words)


def _is_clean(result, *words):
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("init", "absent.csv"), "there is no file absent.csv"),
        (("plan", "absent.toml"), "there is no file absent.toml"),
        (("measure", "absent.plan", "records.csv", "-o", "m"), "there is no file absent.plan"),
        (("release", "spec.toml", "absent.csv", "-o", "out"), "there is no file absent.csv"),
        (("reconstruct", "absent", "-o", "out"), "there is no file absent"),
        (("plan", "spec.toml", "-o", "nowhere/plan"), "the folder nowhere does not exist; make it first"),
        (("release", "spec.toml", "records.csv", "-o", "nowhere/out"), "the folder nowhere does not exist"),
        (("demo", "-o", "nowhere/out"), "the folder nowhere does not exist"),
        (("reconstruct", "damaged", "-o", "out"), "this is not a residualplanner file, or it is damaged"),
    ],
)
def test_missing_and_wrong_files_are_refused(run, spec, records, folder, command, word):
    (folder / "damaged").write_bytes(b"PK and no more\xff")
    _refused(run(*command), word)


@pytest.mark.parametrize(
    "command",
    [
        ("init", "records.csv", "-o", "occupied"),
        ("plan", "late.toml", "-o", "occupied"),
        ("measure", "p", "records.csv", "-o", "occupied"),
        ("reconstruct", "cut", "-o", "occupied"),
        ("release", "late.toml", "records.csv", "-o", "occupied"),
        ("demo", "-o", "occupied"),
    ],
)
def test_what_is_there_is_never_overwritten_nor_is_work_done_for_it(run, spec, records, folder, command, spoil):
    """Whatever is worked on is wrong in a way that is found only then."""
    run("plan", spec, "-o", "p")
    run("measure", "p", records, "-o", "m")
    (folder / "cut").write_bytes((folder / "m").read_bytes()[:-1])
    (folder / "late.toml").write_text(f"gap = nan\n{spec.read_text()}")
    spoil()
    (folder / "occupied").write_text("mine")
    before = sorted(os.listdir(folder))
    _refused(run(*command), "occupied")
    assert (folder / "occupied").read_text() == "mine"
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("release", "-o", "out", "--ledger", "out/l"), "out/l is in the folder out, which has to be new or empty"),
        (("release", "-o", "our.ledger"), "our.ledger would be two things at once; give each a name of its own"),
        (("release", "-o", "our.ledger", "--dry-run"), "our.ledger would be two things at once"),
        (("plan", "-o", "."), ". is a folder; name a file in it"),
        (("release", "-o", "."), "name a new folder"),
        (("plan", "-o", ""), "an argument is empty; if it is a variable of the shell, it is not set"),
    ],
)
def test_outputs_that_are_in_the_way_of_one_another_are_refused_before_anything_is_spent(
    run, spec, records, folder, command, word
):
    spec.write_text('ledger = { file = "our.ledger", budget = { zcdp = "9" } }\n' + spec.read_text())
    (folder / "empty").mkdir()
    before = sorted(os.listdir(folder))
    name, *options = command
    _refused(run(name, spec, *([records] if name == "release" else []), *options), word)
    assert sorted(os.listdir(folder)) == before
    assert not os.listdir(folder / "empty")


def test_how_many_records_do_not_fit_is_not_told(run, spec, folder):
    told = set()
    for count in (1, 7):
        (folder / "bad.csv").write_text("age,sex,region,grade\n" + "30,X,01,0\n" * count + "30,F,01,0\n")
        told.add(run("release", spec, "bad.csv", "-o", "out", "--quiet").output)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (rp.errors.SolverError("the solver stopped", status="x"), "the solver stopped"),
        (rp.errors.MissingExtraError("install it", extra="x"), "install it"),
        (OSError(28, "No space left on device", "out"), "out: No space left on device\nNothing was written."),
        (OSError("odd"), "odd\nNothing was written."),
        (MemoryError(), "out of memory; ask for fewer or smaller tables"),
        (KeyboardInterrupt(), "interrupted\nNothing was written."),
    ],
)
def test_a_run_that_fails_has_status_1(run, spec, failing, error, message):
    with failing("select", error):
        result = run("plan", spec)
    _failed(result, message)


def test_the_text_of_an_unexpected_error_is_withheld(run, spec, records, failing):
    with failing("measure", LookupError(f"no such thing as {CANARY}")):
        result = run("release", spec, records, "-o", "out")
    _failed(result, "unexpected LookupError at residualplanner/shell/cli/measuring.py, line ", "please report it")
    assert CANARY not in result.output


@pytest.fixture
def releasing(folder):
    """A release of very many tables, caught while they are being written."""
    names = [f"a{number}" for number in range(60)]
    domain = "\n".join(f"{name} = 2" for name in names)
    head = 'budget = { zcdp = 1 }\nledger = { file = "s.ledger", budget = { zcdp = 1 } }\n[domain]\n'
    (folder / "s.toml").write_text(f'{head}{domain}\n[[workload]]\nup_to = 2\n[output]\nformat = "xlsx"\n')
    (folder / "d.csv").write_text(",".join(names) + "\n" + ",".join("1" * 60) + "\n")
    command = [sys.executable, "-m", "residualplanner", "release", "s.toml", "d.csv", "-o", "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300  # on a machine that is busy
    while not list(folder.glob(".out.*.partial/tables/*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_release_leaves_what_was_measured_and_says_so(releasing, folder, number):
    releasing.send_signal(number)
    _, told = releasing.communicate(timeout=300)
    assert releasing.returncode == 1
    assert told.decode() == (
        "Error: interrupted\n"
        "The measurement, which has been paid for, is safe in out.measurement; no tables were written.\n"
        "Next: residualplanner reconstruct out.measurement -o out\n"
    )
    assert sorted(os.listdir(folder)) == ["d.csv", "out.measurement", "s.ledger", "s.toml"]

"""A small release: a spec, its records, and a way to run commands in an empty folder."""

import errno
import fcntl
import io
import os
import random
import shutil
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from typer.main import get_command

import residualplanner
from residualplanner.fits import synthesis
from residualplanner.publish.report import report
from shell.specs import app, measuring, planning, releasing

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
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def spec(folder):
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


@pytest.fixture(params=["measure", "release"])
def paying(request, run, spec):
    """A command that measures records, with the plan or spec that it takes."""
    run("plan", spec, "-o", "p")
    return request.param, {"measure": "p", "release": spec.name}[request.param]


#: The commands, built once: that takes longer than many of them do.
COMMANDS = get_command(app.app)


class Result(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self):
        return self.stdout + self.stderr


@pytest.fixture
def run():
    """Run a command in this process, which has to end with the status, if one is given."""

    def run(*arguments, status=None):
        out, err, code = io.StringIO(), io.StringIO(), 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                COMMANDS.main([str(argument) for argument in arguments], prog_name="residualplanner")
            except SystemExit as end:
                code = int(end.code or 0)
        result = Result(code, out.getvalue(), err.getvalue())
        assert status in (None, code), result.output
        return result

    return run


#: Steps of commands that tests have fail, by name.
STEPS = {
    "tables": (residualplanner.Release, "tables"),
    "measurement": (residualplanner.Measurement, "save"),
    "plan": (residualplanner.Plan, "save"),
    "set space aside": (os, "posix_fallocate"),
    "make a folder": (os, "mkdir"),
    "lock": (fcntl, "flock"),
    "force to the disk": (os, "fsync"),
    "replace": (os, "replace"),
    "rename": (os, "rename"),
    "write records": (synthesis.records, "save_frame"),
    "write figures": (report, "_write_csv"),
    "told what is spent": (measuring, "say_spending"),
    "told what is charged": (measuring, "say_charge"),
    "told what is written": (releasing, "say_release"),
    "select": (planning, "plan_of_spec"),
    "measure": (measuring, "measure"),
}


@pytest.fixture
def failing():
    """Have a step of `STEPS` fail within a block: for want of space or by another error, maybe when it is done."""

    @contextmanager
    def failing(step, error=None, *, is_done=False):
        where, name = STEPS[step]
        real = getattr(where, name)

        def fail(*arguments, **options):
            if is_done:
                real(*arguments, **options)
            raise error or OSError(errno.ENOSPC, "No space left on device", "out")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(where, name, fail)
            yield

    return failing


@pytest.fixture
def small_disk(monkeypatch):
    """Have the disk say how many bytes are free on it."""
    return lambda free: monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

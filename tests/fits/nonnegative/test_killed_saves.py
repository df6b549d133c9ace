"""Non-negative tables, workbooks and errors of published numbers: killed at any step on the disk, whole or absent."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import residualplanner as rp

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")

#: What is saved.
OPTIONS = {
    "a workbook": {"format": "workbook"},
    "files with errors and unbiased estimates": {"format": "csv", "with_unbiased": True, "errors": True},
    "parts with errors": {"format": "parts", "errors": True},
}
#: What a killed process may leave: a folder that is thrown away, or, in parts, one with which the next goes on.
HIDDEN = {
    name: re.compile(r"\.out\..+") if "parts" in name else re.compile(r"\.out\.[0-9a-f]{8}\.partial")
    for name in OPTIONS
}

SAVING = """
import json, os, signal, sys
import numpy as np
import residualplanner as rp

base, options = sys.argv[1], json.loads(sys.argv[2])
domain = rp.Domain({"a": 3, "b": ["x", "y"], "c": 4})
plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp("0.1"))
records = np.random.default_rng(0).integers(0, domain.sizes, size=(30, 3))
made = rp.nonnegative(rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=0)))
if options.pop("errors", False):
    options["errors"] = rp.fits.published_errors(made, simulations=10)
made.save(os.path.join(base, "whole"), **options)  # as much as can be is imported before the fork
steps = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}

def count_down(event, arguments):
    if event in steps and isinstance(arguments[0], str | bytes | os.PathLike):
        if os.path.abspath(os.fspath(arguments[0])).startswith(base):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

for number in range(10**6):
    os.mkdir(os.path.join(base, str(number)))
    child = os.fork()
    if child == 0:
        left = [number]
        sys.addaudithook(count_down)
        made.save(os.path.join(base, str(number), "out"), **options)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    print(ended, flush=True)
    if ended == 0:
        break
"""


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_killed_at_any_step_on_the_disk_tables_are_whole_or_absent(tmp_path, name):
    command = [sys.executable, "-c", SAVING, str(tmp_path), json.dumps(OPTIONS[name])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *killed, last = map(int, done.stdout.split())
    assert last == 0
    assert len(killed) > 3, "there were hardly any steps to be killed at: the test has shown nothing"
    assert set(killed) == {signal.SIGKILL}
    absent = 0
    for number in range(len(killed) + 1):
        names = os.listdir(tmp_path / str(number))
        for left in set(names) - {"out"}:
            assert HIDDEN[name].fullmatch(left), left
        absent += "out" not in names
        if "out" in names:
            assert content(tmp_path / str(number) / "out") == content(tmp_path / "whole")
    assert 0 < absent <= len(killed)
    assert len(list(rp.load_tables(tmp_path / "whole"))) == 3

"""Figures of a GPU are recorded with the hash of the kernel that they are of, or not at all."""

import json
from dataclasses import replace
from functools import partial

import pytest

from benchmarks import gpu, gpu_cases, gpu_speed
from benchmarks.strict_device import KEEPING
from inner_parts import fused_tables, kernel_sha256, tables_of_residuals

SMALL = gpu_speed.PROBLEMS[:2]


@pytest.fixture
def record(tmp_path):
    return tmp_path / "gpu.json"


def in_this_process(part, cells, repeat, _seconds, **what):
    """All parts but that which compares releases, of small problems."""
    return iter(()) if part == "agreement" else gpu.run_part(part, cells, repeat, problems=SMALL, **what)


def measured(record, run=in_this_process):
    return gpu.main(["--cells", "12", "--repeat", "1", "--json", str(record)], run=run), json.loads(record.read_text())


def test_recorded_figures_are_those_of_the_kernel_as_it_is():
    if gpu.RESULTS.exists():
        assert json.loads(gpu.RESULTS.read_text())["kernel_sha256"] == kernel_sha256(), "measure again"


def test_a_record_says_what_was_measured_on_what(cupy, record, capsys):
    status, found = measured(record)
    assert json.loads(capsys.readouterr().out) == found
    machine = {"device": "the host", "compute_capability": "90", "driver": 13000, "cupy": "0.host"}
    assert machine.items() <= found.items()
    assert found["kernel_sha256"] == kernel_sha256()
    assert set(found["fused_by_shape"]) == {SMALL[1].name}
    # The clock goes on a millisecond at each event: five runs of 2**12 cells, or of 4 tables, take one.
    assert found["copy"] == pytest.approx(2**12 * 5 / 1e-3 / 1e9)
    assert found["fused"] == pytest.approx(4000 * 5 / 1e-3 / 1e9)
    assert found["criteria"]["fused >= 0.5 copy"] is (found["fused"] >= found["copy"] / 2)
    assert found["criteria"]["agreement <= 1e-12"] is None  # its part was left out
    assert "failures" not in found
    assert status == 1


def test_criteria_that_are_not_met_are_recorded_and_told_by_the_status(record, capsys):
    lines = {"about": [("cupy", "0")], "copies": [("copy", 9.0), ("bus", 1)], "fused": [("fused", 4.0)]}
    lines |= {"to_host": [("to_host,peak", [0.7, 1.1])]}
    run = lambda part, *how: ({"name": name, "found": found} for name, found in lines.get(part, ()))  # noqa: E731
    status, found = measured(record, run)
    assert status == 1
    assert found["criteria"] == {
        "fused >= 0.5 copy": False,
        "portable >= 0.1 copy": None,
        "to_host >= 0.7 bus": True,
        "peak <= 1.1": True,
        "agreement <= 1e-12": None,
    }


def test_wrong_tables_have_no_figure_and_hide_no_other(cupy, record, capsys):
    def slightly_wrong(*args, **how):
        return fused_tables(*args, **how) * (1 + 1e-9)

    status, found = measured(record, partial(in_this_process, fused=slightly_wrong))
    assert status == 1
    assert found["failures"]["fused"] == "ValueError: tables of 10 x 10 x 10 are not those of NumPy"
    assert found["failures"].keys() == {"fused", "fused_rows_sent", "fused_by_shape/2 x 2 x 2"}
    assert {"copy", "bus", "portable", "to_host", "peak"} <= found.keys()
    assert "fused" not in found
    assert found["criteria"]["fused >= 0.5 copy"] is None


def test_releases_are_compared_with_those_of_numpy():
    def slightly_wrong(*args, **how):
        return tables_of_residuals(*args, **how) * (1 + 1e-9)

    some = {"a case": gpu_cases.cases()["bases by set, discrete"]}
    devices = {"right": KEEPING, "wrong": replace(KEEPING, tables=slightly_wrong)}
    found = {name: measure() for name, measure in gpu.agreement(some, devices)}
    assert found["agreement/a case, right"] <= gpu_cases.TOLERANCE < found["agreement/a case, wrong"]


def test_a_part_that_crashes_or_hangs_is_named_after_what_it_has_found(tmp_path):
    script = tmp_path / "python"
    script.write_text(
        '#!/bin/sh\necho \'{"name": "copy", "found": 1}\'\n[ "$4" = fused ] && exec sleep 60\nkill -ABRT $$\n'
    )
    script.chmod(0o755)
    copied = {"name": "copy", "found": 1}
    crashed = {"name": "copies", "failed": "its process ended with status -6"}
    late = {"name": "fused", "failed": "it took more than 0.2 seconds"}
    assert [*gpu.in_a_process("copies", 12, 1, 60, python=str(script))] == [copied, crashed]
    assert [*gpu.in_a_process("fused", 12, 1, 0.2, python=str(script))][-1] == late

"""Figures of a GPU are recorded with the hash of the kernel that they are of, or not at all."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import gpu, gpu_cases, gpu_speed
from benchmarks.kernel_twin import COMPILER
from benchmarks.strict_device import KEEPING
from host_cupy import CUDARuntimeError, HostCupy
from residualplanner.method.kron import tables_of_residuals
from residualplanner.scale.cuda import fused, kernel_sha256

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="the twin of the kernel is built by g++, which is not there"
)
SMALL = gpu_speed.PROBLEMS[:2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return HostCupy(tmp_path_factory.mktemp("cupy"))


@pytest.fixture
def cupy(built, monkeypatch):
    """The stand-in, and all parts but that which compares releases, in this process."""
    monkeypatch.setitem(sys.modules, "cupy", built)
    monkeypatch.setattr(gpu, "PROBLEMS", SMALL)
    monkeypatch.setattr(gpu, "PARTS", {name: steps for name, steps in gpu.PARTS.items() if name != "agreement"})
    monkeypatch.setattr(gpu, "in_a_process", lambda part, cells, repeat, seconds: gpu.run_part(part, cells, repeat))
    for kept in (fused._module, fused._limits, fused._on_device):
        kept.cache_clear()
    return built


@pytest.fixture
def record(tmp_path):
    return tmp_path / "gpu.json"


def measured(record):
    return gpu.main(["--cells", "12", "--repeat", "1", "--json", str(record)]), json.loads(record.read_text())


def test_recorded_figures_are_those_of_the_kernel_as_it_is():
    if gpu.RESULTS.exists():
        assert json.loads(gpu.RESULTS.read_text())["kernel_sha256"] == kernel_sha256(), "measure again"


@needs_compiler
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


@needs_compiler
def test_criteria_that_are_not_met_are_recorded_and_told_by_the_status(cupy, record, monkeypatch):
    monkeypatch.setattr(gpu, "AT_LEAST", {("fused", "copy"): 1000})
    status, found = measured(record)
    assert status == 1
    assert found["criteria"] == {"fused >= 1000 copy": False, "peak <= 1.1": True, "agreement <= 1e-12": None}


@needs_compiler
def test_wrong_tables_have_no_figure_and_hide_no_other(cupy, record, monkeypatch):
    def slightly_wrong(*args, **how):
        return right(*args, **how) * (1 + 1e-9)

    right = gpu.fused_tables
    monkeypatch.setattr(gpu, "fused_tables", slightly_wrong)
    status, found = measured(record)
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


def test_the_agreement_is_that_of_the_worst_release_and_of_all(record):
    figures = gpu.Record(record)
    figures.take({"name": "agreement/one", "found": 0.0})
    assert figures.criteria["agreement <= 1e-12"] is True
    figures.take({"name": "agreement/other", "found": 1e-11})
    assert figures.criteria["agreement <= 1e-12"] is False
    figures.take({"name": "agreement/third", "failed": "IndexError"})
    assert figures.criteria["agreement <= 1e-12"] is None


def test_a_part_that_crashes_or_hangs_is_named_after_what_it_has_found(tmp_path, monkeypatch):
    script = tmp_path / "python"
    script.write_text(
        '#!/bin/sh\necho \'{"name": "copy", "found": 1}\'\n[ "$4" = fused ] && exec sleep 60\nkill -ABRT $$\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    copied = {"name": "copy", "found": 1}
    crashed = {"name": "copies", "failed": "its process ended with status -6"}
    late = {"name": "fused", "failed": "it took more than 0.2 seconds"}
    assert [*gpu.in_a_process("copies", 12, 1, 60)] == [copied, crashed]
    assert [*gpu.in_a_process("fused", 12, 1, 0.2)][-1] == late


def test_parts_for_which_no_time_is_left_are_named(record, monkeypatch):
    monkeypatch.setattr(gpu, "in_a_process", lambda part, *how: iter([{"name": "cupy", "found": "0"}]))
    figures = gpu.Record(record)
    assert not gpu.measure(figures, 12, 1, seconds=0)
    assert figures.failures.keys() == gpu.PARTS.keys()


def test_without_cupy_nothing_is_measured_and_it_is_said_why(monkeypatch, record, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(gpu, "in_a_process", lambda part, cells, repeat, seconds: gpu.run_part(part, cells, repeat))
    assert gpu.main(["--json", str(record)]) == 2
    assert "CuPy is not installed: pip install residualplanner[gpu]" in capsys.readouterr().err
    assert not record.exists()


@needs_compiler
def test_without_a_device_nothing_is_measured_and_it_is_said_why(cupy, monkeypatch, record, capsys):
    def no_device(number=0):
        raise CUDARuntimeError("no CUDA-capable device is detected")

    monkeypatch.setattr(cupy.cuda, "Device", no_device)
    assert gpu.main(["--json", str(record)]) == 2
    assert "CuPy finds no CUDA device (no CUDA-capable device is detected)" in capsys.readouterr().err
    assert not record.exists()


@pytest.mark.parametrize("problem", gpu_speed.PROBLEMS, ids=lambda problem: problem.name)
def test_problems_have_answers_for_all_their_tables(problem):
    blocks, rows = problem.answers(3)
    tables = tables_of_residuals(blocks, rows, maps=problem.maps, divisors=[1] * len(blocks))
    assert tables.shape == (3, *problem.maps.rows)
    assert rows[:, 0].tolist() == [0, 0, 0]
    assert rows[:, -1].tolist() == [0, 1, 2]
    assert len(np.unique(rows[:, 1])) == 1  # the first attribute is the same in the first sets

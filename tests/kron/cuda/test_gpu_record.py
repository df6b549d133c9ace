"""Figures of a GPU are recorded with the hash of the kernel that they are of, or not at all."""

import json
import sys

import numpy as np
import pytest

from benchmarks import gpu
from benchmarks.kernel_twin import COMPILER
from host_cupy import CUDARuntimeError, HostCupy
from residualplanner.kron import tables_of_residuals
from residualplanner.kron.cuda import fused, kernel_sha256

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="the twin of the kernel is built by g++, which is not there"
)
SMALL = gpu.PROBLEMS[:2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return HostCupy(tmp_path_factory.mktemp("cupy"))


@pytest.fixture
def cupy(built, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", built)
    monkeypatch.setattr(gpu, "PROBLEMS", SMALL)
    for kept in (fused._module, fused._limits, fused._on_device):
        kept.cache_clear()
    return built


def test_recorded_figures_are_those_of_the_kernel_as_it_is():
    if gpu.RESULTS.exists():
        assert json.loads(gpu.RESULTS.read_text())["kernel_sha256"] == kernel_sha256(), "measure again"


@pytest.mark.slow
@needs_compiler
def test_a_record_says_what_was_measured_on_what(cupy, tmp_path, capsys):
    record = tmp_path / "gpu.json"
    status = gpu.main(["--cells", "12", "--repeat", "2", "--json", str(record)])
    found = json.loads(record.read_text())
    assert json.loads(capsys.readouterr().out) == found
    machine = {"device": "the host", "compute_capability": "90", "driver": 13000, "cupy": "0.host"}
    assert machine.items() <= found.items()
    assert found["kernel_sha256"] == kernel_sha256()
    assert set(found["fused_by_shape"]) == {problem.name for problem in SMALL}
    # The clock goes on a millisecond at each event: five runs of 2**12 cells, or of 4 tables, take one.
    assert found["copy"] == pytest.approx(2**12 * 5 / 1e-3 / 1e9)
    assert found["fused"] == pytest.approx(4000 * 5 / 1e-3 / 1e9)
    assert found["criteria"]["fused >= 0.5 copy"] is (found["fused"] >= found["copy"] / 2)
    assert status == (0 if all(found["criteria"].values()) else 1)


@needs_compiler
def test_criteria_that_are_not_met_are_recorded_and_told_by_the_status(cupy, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "AT_LEAST", {("fused", "copy"): 1000})
    assert gpu.main(["--cells", "12", "--repeat", "1", "--json", str(tmp_path / "gpu.json")]) == 1
    found = json.loads((tmp_path / "gpu.json").read_text())
    assert found["criteria"] == {"fused >= 1000 copy": False, "peak <= 1.1": True}


@needs_compiler
def test_nothing_is_recorded_where_tables_are_wrong(cupy, tmp_path, monkeypatch, capsys):
    def slightly_wrong(*args, **how):
        return gpu_tables(*args, **how) * (1 + 1e-9)

    gpu_tables = gpu.fused_tables
    monkeypatch.setattr(gpu, "fused_tables", slightly_wrong)
    assert gpu.main(["--cells", "12", "--repeat", "1", "--json", str(tmp_path / "gpu.json")]) == 1
    assert "tables of 10 x 10 x 10 are not those of NumPy" in capsys.readouterr().err
    assert not (tmp_path / "gpu.json").exists()


def test_without_cupy_nothing_is_measured_and_it_is_said_why(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert gpu.main(["--json", str(tmp_path / "gpu.json")]) == 2
    assert "CuPy is not installed: pip install residualplanner[gpu]" in capsys.readouterr().err
    assert not (tmp_path / "gpu.json").exists()


@needs_compiler
def test_without_a_device_nothing_is_measured_and_it_is_said_why(cupy, monkeypatch, tmp_path, capsys):
    def no_device(number=0):
        raise CUDARuntimeError("no CUDA-capable device is detected")

    monkeypatch.setattr(cupy.cuda, "Device", no_device)
    assert gpu.main(["--json", str(tmp_path / "gpu.json")]) == 2
    assert "CuPy finds no CUDA device (no CUDA-capable device is detected)" in capsys.readouterr().err
    assert not (tmp_path / "gpu.json").exists()


@pytest.mark.parametrize("problem", gpu.PROBLEMS, ids=lambda problem: problem.name)
def test_problems_have_answers_for_all_their_tables(problem):
    blocks, rows = problem.answers(3)
    tables = tables_of_residuals(blocks, rows, maps=problem.maps, divisors=[1] * len(blocks))
    assert tables.shape == (3, *problem.maps.rows)
    assert rows[:, 0].tolist() == [0, 0, 0]
    assert rows[:, -1].tolist() == [0, 1, 2]
    assert len(np.unique(rows[:, 1])) == 1  # the first attribute is the same in the first sets

"""Figures of a GPU are recorded with the hash of the kernel that they are of, or not at all."""

import json

import pytest

from benchmarks import gpu, gpu_speed

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
        assert json.loads(gpu.RESULTS.read_text())["kernel_sha256"] == gpu.kernel_sha256(), "measure again"


def test_a_record_says_what_was_measured_on_what(cupy, record, capsys):
    status, found = measured(record)
    assert json.loads(capsys.readouterr().out) == found
    machine = {"device": "the host", "compute_capability": "90", "driver": 13000, "cupy": "0.host"}
    assert machine.items() <= found.items()
    assert found["kernel_sha256"] == gpu.kernel_sha256()
    assert set(found["fused_by_shape"]) == {SMALL[1].name}
    # The clock goes on a millisecond at each event: five runs of 2**12 cells, or of 4 tables, take one.
    assert found["copy"] == pytest.approx(2**12 * 5 / 1e-3 / 1e9)
    assert found["fused"] == pytest.approx(4000 * 5 / 1e-3 / 1e9)
    assert found["criteria"]["fused >= 0.5 copy"] is (found["fused"] >= found["copy"] / 2)
    assert found["criteria"]["agreement <= 1e-12"] is None  # its part was left out
    assert "failures" not in found
    assert status == 1

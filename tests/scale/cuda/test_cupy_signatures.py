"""Whatever the path on a device asks of an array library, CuPy has, with these arguments."""

import json

import pytest

from benchmarks.gpu_signatures import RECORD, asked_of_cupy, collected, unbound

RECORDED = json.loads(RECORD.read_text())


@pytest.fixture(scope="module")
def uses():
    return collected()


@pytest.mark.slow
def test_what_is_asked_is_what_was_bound_to_the_wheel_of_cupy(uses):
    """After a change: python -m benchmarks.gpu_signatures --write, where CuPy is installed."""
    assert {name: RECORDED[name] for name in uses.to_json()} == uses.to_json()
    assert RECORDED["cupy"] == sorted({f"cupy.{call or name}" for name, call in asked_of_cupy()})
    assert any(name.startswith("cupy-cuda") for name in RECORDED["bound_to"])


def test_everything_binds_to_the_cupy_that_is_installed(uses):
    pytest.importorskip("cupy", reason="the wheel of CuPy is not installed")
    assert unbound(uses) == []

"""Whatever the path on a device asks of an array library, CuPy has, with these arguments."""

import json

import pytest

from benchmarks.gpu_signatures import RECORD, Call, Uses, asked_of_cupy, collected, unbound

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


@pytest.mark.parametrize(
    "more",
    [
        Uses(calls={Call("asarray", 1, ("device", "like"))}),
        Uses(calls={Call("nothing", 1, ())}),
        Uses(names={"float128"}),
        Uses(members={"to_numpy"}),
    ],
)
def test_what_cupy_does_not_have_is_told(more):
    pytest.importorskip("cupy", reason="the wheel of CuPy is not installed")
    assert len(unbound(more)) == 1


@pytest.mark.slow
def test_the_collection_sees_every_sort_of_use(uses):
    assert Call("empty", 1, ("device", "dtype")) in uses.calls
    assert Call("cumulative_sum", 1, ("axis",)) in uses.calls
    assert "float64" in uses.names
    assert {"__truediv__", "__setitem__", "shape", "device"} <= uses.members
    assert ("asnumpy", None) in asked_of_cupy()
    assert ("cuda.Device", Call("cuda.Device", 0, ())) in asked_of_cupy()

"""What is public is what the lists beside this file say, until somebody means to change it."""

from pathlib import Path

import pytest

from benchmarks.public import LISTINGS, listed

NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name == "columns" else []) for name in LISTINGS]


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_public_is_what_is_listed(name):
    stated = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    found = listed(name).splitlines()
    new, gone = sorted({*found} - {*stated}), sorted({*stated} - {*found})
    assert found == stated, (
        "the public interface changed: if that is meant, run `python -m benchmarks.public` and add a line to "
        f"CHANGELOG.md\nnew: {new}\ngone: {gone}"
    )

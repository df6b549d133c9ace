"""Files that were kept from each version of the format are read, and say what they said when they were made."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import residualplanner as rp
from benchmarks.kept import said
from inner_parts import plan_hash

KEPT = Path(__file__).parent
EVERY = [
    path.parent.name + "/" + name for path in KEPT.glob("v*/numbers.json") for name in json.loads(path.read_text())
]


def numbers(name: str) -> Any:
    version, _, file = name.partition("/")
    return json.loads((KEPT / version / "numbers.json").read_text())[file]


def require_close(found: Any, stated: Any) -> None:
    """The same words, and numbers that agree to eight digits."""
    if isinstance(stated, dict):
        assert found.keys() == stated.keys()
        for key, value in stated.items():
            require_close(found[key], value)
    elif isinstance(stated, list):
        assert len(found) == len(stated)
        for one, other in zip(found, stated, strict=True):
            require_close(one, other)
    else:
        assert found == (pytest.approx(stated, rel=1e-8, abs=1e-8) if isinstance(stated, float) else stated)


@pytest.mark.parametrize("name", EVERY)
def test_a_file_that_was_kept_says_what_it_said(name, tmp_path):
    home = KEPT / name
    copy = tmp_path / home.name
    if home.is_dir():
        shutil.copytree(home, copy)
    else:
        shutil.copyfile(home, copy)
    require_close(said(copy), numbers(name))


@pytest.mark.parametrize("name", [name for name in EVERY if name.endswith(".plan")])
def test_a_plan_that_was_kept_is_written_as_it_was(name, tmp_path):
    """What is in it and its hash are the same, so that ledgers and measurements know it."""
    again = tmp_path / "again.plan"
    rp.load_plan(KEPT / name).save(again)
    kept, written = (rp.load_plan(path) for path in (KEPT / name, again))
    assert kept.errors().equals(written.errors())
    assert plan_hash(kept) == plan_hash(written)


def test_a_measurement_that_was_kept_is_of_the_plan_beside_it_and_in_the_ledger():
    plan = rp.load_plan(KEPT / "v1/sum.plan")
    measurement = rp.load_measurement(KEPT / "v1/sum.measurement")
    entries = rp.Ledger.open(KEPT / "v1/people.ledger").entries
    assert plan_hash(measurement.plan) == plan_hash(plan) == entries[0].plan_sha256


def test_every_kind_of_file_was_kept():
    kinds = {Path(name).suffix for name in EVERY}
    assert kinds == {".plan", ".measurement", ".ledger", ""}
    assert {"v1/store", "v1/csv", "v1/parquet", "v1/two", "v1/linked", "v1/rounded"} <= {*EVERY}

"""Releases of small parts."""

import numpy as np
import pytest

import residualplanner as rp
from small_pieces import small_parts


@pytest.fixture(scope="module", autouse=True)
def _small_parts():
    """Of some tables, so that there are several."""
    with small_parts():
        yield


@pytest.fixture
def mapped(tmp_path):
    """A release of six parts, whose file is mapped."""
    plan = rp.select(rp.marginals(rp.Domain(dict.fromkeys("abcd", 5)), up_to=2), budget=rp.pcost(1))
    rp.measure(plan, np.zeros((10, 4), dtype=int)).save(tmp_path / "some.measurement")
    return rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement", mapped=True))

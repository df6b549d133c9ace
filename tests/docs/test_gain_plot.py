"""The figures behind the pictures of the page on bases are what the library computes, and the pictures are of them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gain_plot import NUMBERS_OF_ATTRIBUTES, SIZE, example, gains, principal_rows
from benchmarks.published_general import K_WAY_PREFIX
from residualplanner.method.bases.matrix import integer_basis

ROOT = Path(__file__).resolve().parents[2]
SAVED = json.loads((ROOT / "benchmarks" / "results" / "gain.json").read_text(encoding="utf-8"))
BASES = ("optimal", "orthogonal")
PICTURES = ("bases-gain.svg", "bases-prefix.svg")


def test_the_saved_figures_are_those_of_the_library():
    computed = list(gains())
    assert len(computed) == len(SAVED["gain"]) == sum(NUMBERS_OF_ATTRIBUTES)
    for now, saved in zip(computed, SAVED["gain"], strict=True):
        assert (now["attributes"], now["order"]) == (saved["attributes"], saved["order"])
        assert [now[bases] for bases in BASES] == pytest.approx([saved[bases] for bases in BASES], rel=1e-4)


def test_figures_of_others_are_the_published_ones():
    for attributes in NUMBERS_OF_ATTRIBUTES:
        rows = [row for row in SAVED["gain"] if row["attributes"] == attributes]
        for name, figures in zip(("hdmm", "residualplanner_plus"), K_WAY_PREFIX[attributes, SIZE], strict=False):
            assert tuple(row[name] for row in rows if row[name] is not None) == figures


def test_no_line_of_the_picture_is_below_the_optimal_bases_by_more_than_printed_digits():
    for row in SAVED["gain"]:
        others = [row[name] for name in ("orthogonal", "hdmm", "residualplanner_plus") if row[name] is not None]
        assert row["optimal"] <= min(others) * (1 + 1e-3)


def test_the_saved_bases_are_those_of_the_library():
    for name, now in example().items():
        saved = SAVED["example"][name]
        assert now["rmse"] == pytest.approx(saved["rmse"], rel=1e-4)
        assert np.abs(np.subtract(now["u"], saved["u"])).max() < 3e-3
        assert sum(now["u"]) == pytest.approx(1, abs=1e-5)
        assert np.abs(np.subtract(now["rows"], saved["rows"])).max() < 2e-2


def test_principal_rows_are_a_rotation_of_the_basis():
    basis = integer_basis(np.random.default_rng(0).integers(-9, 9, (3, 4)), "given")
    assert basis.matrix is not None
    rows, matrix = principal_rows(basis), basis.matrix / float(basis.pcost) ** 0.5
    assert np.allclose(rows.T @ rows, matrix.T @ matrix)
    effects = np.linalg.inv(np.vstack([np.ones(4), rows]))[:, 1:]
    products = effects.T @ effects
    assert np.allclose(products, np.diag(np.sort(products.diagonal())))


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_whole_and_not_too_large(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert text.rstrip().endswith("</svg>")
    assert len(text) < 150_000
    assert not re.search(r"<dc:date>", text)  # drawn again, the file is the same

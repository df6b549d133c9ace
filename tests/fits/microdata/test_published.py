"""The published tables of the benchmark, of three of its data sets, and the data sets themselves."""

import json
import math

import numpy as np
import pytest

import residualplanner as rp
from benchmarks.microdata_data import DataSet, noisy, synthetic
from benchmarks.microdata_page import RESULTS, page_tables
from benchmarks.microdata_published import METHODS, REFERENCE

m = rp.fits.microdata
#: Race by Hispanic origin in two areas, from the American Community Survey of 2016 (public-use microdata): all cells
#: that are not 0.
PUMA1703531 = {(0, 0): 9, (1, 0): 933, (1, 2): 3, (2, 1): 1, (4, 0): 1, (5, 0): 2, (7, 0): 3, (7, 1): 1, (7, 23): 1,
               (8, 0): 12}  # fmt: skip
PUMA3603710 = {
    (0, 0): 42, (0, 1): 20, (0, 2): 74, (0, 3): 1, (0, 4): 30, (0, 6): 2, (0, 7): 5, (0, 10): 1, (0, 15): 4,
    (0, 16): 17, (0, 18): 3, (0, 23): 13, (1, 0): 382, (1, 1): 4, (1, 2): 31, (1, 3): 1, (1, 4): 31, (1, 6): 2,
    (1, 7): 1, (1, 22): 1, (1, 23): 4, (2, 0): 2, (2, 1): 1, (2, 4): 5, (4, 2): 5, (4, 4): 1, (5, 0): 18, (6, 0): 1,
    (7, 0): 2, (7, 1): 43, (7, 2): 197, (7, 3): 1, (7, 4): 130, (7, 6): 1, (7, 7): 26, (7, 8): 3, (7, 9): 3,
    (7, 10): 4, (7, 12): 2, (7, 15): 1, (7, 16): 17, (7, 18): 6, (7, 22): 1, (7, 23): 10, (8, 0): 7, (8, 1): 2,
    (8, 2): 30, (8, 4): 16, (8, 7): 3, (8, 16): 2, (8, 23): 1,
}  # fmt: skip
FITS = {
    "NNLS": m.nonnegative_least_squares,
    "MaxFit": m.max_fit,
    "Sequential": m.sequential_fit,
    "ReWeighted": m.reweighted_fit,
}
LAW = "Laplace, epsilon = 0.5"


def data_set(name):
    if name == "Level00-2d":
        (found,) = (each for each in synthetic() if each.name == name)
        return found
    counts = np.zeros((9, 24))
    for cell, count in {"PUMA1703531": PUMA1703531, "PUMA3603710": PUMA3603710}[name].items():
        counts[cell] = count
    return DataSet(name, counts)


@pytest.mark.cases(7)
@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("name", ["Level00-2d", "PUMA1703531", "PUMA3603710"])
def test_errors_are_those_of_an_independent_simulation(name, method):
    data, draws = data_set(name), 100 if method == "MaxFit" else 1000
    fit = FITS[method](noisy(data, LAW, draws, 1))
    total = (fit.table() - data.counts.sum()) ** 2
    cells = ((fit.estimate - data.counts) ** 2).reshape(draws, -1)
    expected, its_error, together, worst = REFERENCE[name][METHODS.index(method) - 1]
    root, other = math.sqrt(draws), math.sqrt(600 if method == "MaxFit" else 3000)
    assert abs(total.mean() - expected) <= 4 * math.hypot(total.std() / root, its_error)
    spread = cells.sum(axis=1).std()
    assert abs(cells.sum(axis=1).mean() - together) <= 4 * math.hypot(spread / root, spread / other)
    at = int(cells.mean(axis=0).argmax())
    spread = cells[:, at].std()
    assert abs(cells[:, at].mean() - worst) <= 4 * math.hypot(spread / root, spread / other)


def test_the_manual_has_the_figures_of_the_benchmark():
    page = (RESULTS.parents[2] / "docs" / "microdata.md").read_text(encoding="utf-8")
    tables = page_tables(json.loads(RESULTS.read_text(encoding="utf-8")))
    assert len(tables) == 3
    assert all(table in page for table in tables)

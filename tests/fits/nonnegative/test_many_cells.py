"""Tables of very many cells: steps in single precision, and records that cover what is missing."""

import numpy as np
import pytest

import residualplanner as rp
from made_releases import exact_release

SHAPE = (4, 3, 5, 2)
DOMAIN = rp.Domain(dict(zip("abcd", SHAPE, strict=True)))
WORKLOADS = {
    "tables of one attribute": rp.marginals(DOMAIN, order=1),
    "pairs": rp.marginals(DOMAIN, order=2),
    "triples": rp.marginals(DOMAIN, order=3),
    "tables of different orders": rp.Workload(DOMAIN, [("a", "b", "c"), ("c", "d")]),
}


@pytest.fixture
def many(monkeypatch):
    """Makes all numbers of cells very many, for solvers or for sums of errors."""

    def make(module):
        monkeypatch.setattr(f"residualplanner.fits.nonnegative.{module}._MANY_CELLS", 0)

    return make


def release_for(name):
    data = np.random.default_rng(1).normal(1, 3, SHAPE)
    data[3] -= 2
    return exact_release(rp.select(WORKLOADS[name], budget=rp.zcdp("0.1")), data)


@pytest.mark.parametrize("name", WORKLOADS)
def test_tables_are_nearly_the_nearest_and_none_is_negative(name, many):
    release = release_for(name)
    exact = rp.nonnegative(release)
    many("ascent")
    made = rp.nonnegative(release, gap=1e-3)
    assert made.numbers.steps > 0
    assert made.numbers.gap <= 1e-3
    for query in release:
        assert made[query].estimate.min() >= 0
        assert made[query].estimate == pytest.approx(exact[query].estimate, abs=0.1)
        assert made[query].estimate.sum() == pytest.approx(exact[query].estimate.sum())


def test_the_best_tables_are_given_where_precision_or_steps_are_exhausted(many):
    many("ascent")
    told = []
    made = rp.nonnegative(release_for("pairs"), gap=1e-15, progress=lambda *now: told.append(now))
    assert 1e-15 < made.numbers.gap < 1e-4
    assert told[-1] < (5000, 5000)
    assert [steps for steps, _ in told] == list(range(0, told[-1][0] + 1, 25))
    made = rp.nonnegative(release_for("triples"), gap=1e-9, max_steps=30)
    assert made.numbers.steps == 30
    assert made.numbers.gap > 1e-9
    assert min(float(table.estimate.min()) for table in made.tables()) >= 0


@pytest.mark.slow
@pytest.mark.parametrize("modules", [["ascent", "published_errors_simulation"], ["ascent"]])
def test_errors_of_very_many_cells_are_those_of_few(many, modules):
    made = rp.nonnegative(release_for("triples"))
    exact = rp.fits.published_errors(made, simulations=10)
    for module in modules:
        many(module)
    found = rp.fits.published_errors(made, simulations=10)
    assert found.rmse == pytest.approx(exact.rmse, rel=0.02)
    assert found.bias == pytest.approx(exact.bias, rel=0.05, abs=0.01)
    assert found.rmse_simulation_error == pytest.approx(exact.rmse_simulation_error, rel=0.2)
    assert (found.rmse != exact.rmse).all()

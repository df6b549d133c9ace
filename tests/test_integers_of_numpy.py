"""Integers that come from NumPy, as those of a loop over ``np.arange``, are integers."""

import numpy as np
import pytest

import residualplanner as rp

PAIRS = rp.marginals(rp.Domain({"a": 3, "b": 2}), order=2)


def rap_plan(integer):
    return rp.fits.rap.RapPlan(
        PAIRS,
        budget=rp.zcdp(1),
        neighbors="add-remove",
        rounds=integer(2),
        choices=integer(3),
        total=integer(50),
        records_per_person=integer(2),
        projection=rp.fits.rap.ProjectionSettings(relaxed_records=integer(9), steps=integer(7)),
    ).sha256


@pytest.mark.parametrize(
    "made",
    [
        rap_plan,
        lambda integer: list(rp.marginals(PAIRS.domain, order=integer(2))),
        lambda integer: rp.privacy.Neighbors(records_per_person=integer(2)),
        lambda integer: rp.LimitedRecords("x.csv", person="p", keep=integer(2)),
    ],
)
def test_an_integer_of_numpy_says_the_same_as_one_of_python(made):
    assert repr(made(np.int64)) == repr(made(np.uint8)) == repr(made(int))


def test_tables_are_rounded_to_a_base_and_saved_by_workers_from_numpy(tmp_path):
    release = rp.reconstruct(rp.measure(rp.select(PAIRS, budget=rp.zcdp(1)), np.zeros((9, 2), int), noise="gaussian"))
    rounded = rp.rounded(release, base=np.int64(5))
    assert repr(rounded.product) == repr(rp.rounded(release, base=5).product)
    assert (rounded["a", "b"].estimate % 5 == 0).all()
    release.save(tmp_path / "tables", "parts", workers=np.int64(1))
    np.testing.assert_array_equal(rp.load_tables(tmp_path / "tables")["a", "b"].estimate, release["a", "b"].estimate)

"""Integers that come from NumPy, as those of a loop over ``np.arange``, are integers."""

import numpy as np
import pytest

import residualplanner as rp
from residualplanner.fits.adjusted.numbers import require_base
from residualplanner.publish.parts.writing import workers_of

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
        lambda integer: workers_of(integer(2)),
        lambda integer: require_base(integer(5)),
    ],
)
def test_an_integer_of_numpy_says_the_same_as_one_of_python(made):
    assert repr(made(np.int64)) == repr(made(np.uint8)) == repr(made(int))


def test_tables_are_rounded_to_a_base_from_numpy():
    release = rp.reconstruct(rp.measure(rp.select(PAIRS, budget=rp.zcdp(1)), np.zeros((9, 2), int), noise="gaussian"))
    rounded = rp.rounded(release, base=np.int64(5))
    assert repr(rounded.product) == repr(rp.rounded(release, base=5).product)
    assert (rounded["a", "b"].estimate % 5 == 0).all()

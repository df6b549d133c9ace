"""What is known of all records bounds tables about some of them."""

import numpy as np
import pytest

import residualplanner as rp
from universes import DOMAIN

EMPLOYED = {"employed": "yes"}
RECORDS = np.random.default_rng(3).integers(0, [4, 2, 3], (60, 3)) * [1, 1, 1]


def release_of(*queries):
    plan = rp.select(rp.Workload(DOMAIN, list(queries)), budget=rp.zcdp("0.1"))
    return rp.reconstruct(rp.measure(plan, RECORDS, noise="gaussian", seed=5))


def test_known_tables_of_everybody_bound_those_of_some():
    data = np.zeros(DOMAIN.sizes)
    np.add.at(data, tuple(RECORDS.T), 1)
    among = rp.Among(("age",), where=EMPLOYED)
    release = release_of(("age", "employed"), among)
    known = {("age",): data.sum(axis=(1, 2)), ("employed",): data.sum(axis=(0, 1))}
    tables = rp.nonnegative(release, known=known)
    assert tables[among].estimate.sum() == pytest.approx(known["employed",][0])
    low, high = tables[among].interval()
    assert (high <= known["age",] + 1e-9).all()
    assert (low >= 0).all()
    exact = rp.nonnegative(release, known={("age", "employed"): data.sum(axis=1)})[among]
    np.testing.assert_allclose(exact.interval(), [data.sum(axis=1)[:, 0]] * 2)


def test_a_known_table_of_some_records_is_refused_with_what_to_give_instead():
    with pytest.raises(
        rp.errors.WorkloadError,
        match=r"it is about some of the records; give the table of all .* \['sex', 'employed'\]",
    ):
        rp.nonnegative(release_of(("sex", "employed")), known=[(rp.Among(("sex",), where=EMPLOYED), [10, 10])])

"""Records in, tables out: runs of ``measure`` and ``reconstruct`` on two neighboring data sets, told apart.

Bits are fixed.  With fresh ones a right library would fail each test once in a million times.
"""

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.auditing import (
    DELTA,
    audit,
    expected_epsilon,
    fixed_randomness,
    gaussian_epsilon,
    released_tables,
    table_scores,
)
from dense import marginal_covariance
from residualplanner import Domain, Identity, Prefix, Workload, select, zcdp

pytestmark = pytest.mark.usefixtures("memory_asked_once")
RUNS = 1_200
DOMAIN = Domain({"sex": ["F", "M"], "age": 3})
PLAN = select(Workload(DOMAIN, [("sex",), ("age",), ("sex", "age")]), budget=zcdp("0.5"))
RECORDS = [("F", 0), ("F", 2), ("M", 1)]
RECORD, CELL = ("M", 2), 5


#: From explicit matrices.
COVARIANCE = marginal_covariance((2, 3), (0, 1), dict(zip(PLAN.closure, PLAN.noise_variances.tolist(), strict=True)))


def forms(records):
    """The records as codes, and one time in five as a data frame."""
    frame = pd.DataFrame(records, columns=["sex", "age"])
    codes = np.array([["FM".index(sex), age] for sex, age in records])
    return [codes, codes, frame, codes, codes]


def tables(records, runs, seed, plan=PLAN):
    with fixed_randomness(seed):
        return released_tables(plan, forms(records), ("sex", "age"), runs)


@pytest.fixture(scope="module")
def before(memory_asked_once):
    return tables(RECORDS, RUNS, 1)


@pytest.fixture(scope="module")
def after(memory_asked_once):
    return tables([*RECORDS, RECORD], RUNS, 2)


def scores(them, center):
    """Of the best adversary, standard normal without the record."""
    return table_scores(them - center, COVARIANCE, CELL)


CENTER = np.array([1, 0, 1, 0, 1, 0])


@pytest.mark.thorough
def test_the_released_tables_are_unbiased_and_vary_as_the_plan_says(before):
    standard_error = np.sqrt(np.diag(COVARIANCE) / RUNS)
    assert (abs(before.mean(axis=0) - CENTER) <= 5.3 * standard_error).all()
    whitened = np.linalg.inv(np.linalg.cholesky(COVARIANCE)) @ (before - CENTER).T
    assert (abs((whitened**2).mean(axis=1) - 1) <= 5.5 * math.sqrt(2 / RUNS)).all()
    products = whitened @ whitened.T / RUNS
    assert (abs(products[np.triu_indices(6, 1)]) <= 5.5 / math.sqrt(RUNS)).all()


def test_the_best_adversary_achieves_the_claim_and_no_more(before, after):
    found = audit(scores(before, CENTER), scores(after, CENTER), mu=1.0)
    assert abs(found.mu - 1) <= 5 * found.mu_error < 0.23
    assert found.epsilon <= gaussian_epsilon(1.0) <= PLAN.budget.epsilon(DELTA)
    assert found.epsilon >= 0.85 * expected_epsilon(1.0, RUNS) > 0.28 * gaussian_epsilon(1.0)


@pytest.mark.thorough
def test_the_best_adversary_achieves_the_claim_where_integer_bases_are_measured():
    """Prefix sums of age, alone and by sex: the record is one whose cell is the worst for the plan's basis."""
    workload = Workload(DOMAIN, [{"age": Prefix()}, {"sex": Identity(), "age": Prefix()}])
    plan = select(workload, budget=zcdp("0.5"))
    assert plan.bases["age"].family == "optimal"
    covariance = plan.covariance(("sex", "age"))
    power = np.diag(np.linalg.inv(covariance))
    assert power.max() == pytest.approx(1, rel=1e-9)  # pcost, from the covariance of what is released alone
    record = [(sex, age) for sex in "FM" for age in range(3)][int(power.argmax())]
    before, after = (
        table_scores(tables(records, 800, seed, plan) - CENTER, covariance, int(power.argmax()))
        for records, seed in ((RECORDS, 8), ([*RECORDS, record], 9))
    )
    found = audit(before, after, mu=1.0)
    assert abs(found.mu - 1) <= 5 * found.mu_error < 0.29
    assert 0.15 * gaussian_epsilon(1.0) < found.epsilon <= gaussian_epsilon(1.0)

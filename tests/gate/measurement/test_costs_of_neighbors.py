"""What is charged for exact noise is never less than what explicit matrices say, for either notion of neighbors."""

from fractions import Fraction

import numpy as np
import pytest

import dense
from residualplanner import Domain, Ledger, marginals, measure, select, zcdp
from residualplanner.gate.measurement.precision import measured_cost, precision_of

SIZES = (3, 2, 4)
DOMAIN = Domain({"a": 3, "b": 2, "c": 4})
RECORDS = np.array([[0, 0, 0], [2, 1, 3]])


def dense_cost(plan):
    """The largest cost of replacing one record by another, from explicit matrices and the exact precisions."""
    precision = precision_of(plan.noise_variances)
    parts = [
        dense.replacement_costs(SIZES, members) * weight
        for members, weight in zip(plan.closure, precision.tolist(), strict=True)
    ]
    return float(sum(parts).max())


@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("people", [1, 3])
def test_the_cost_charged_for_replaced_records_covers_and_nearly_meets_the_dense_one(loss, people):
    plan = select(
        marginals(DOMAIN, up_to=2), budget=zcdp("0.7"), loss=loss, neighbors="replace", records_per_person=people
    )
    ledger = Ledger(zcdp(1), neighbors="replace", records_per_person=people)
    measurement = measure(plan, RECORDS, ledger=ledger)
    charged = ledger.spent
    assert measurement.noise.pcost == charged == measured_cost(plan, precision_of(plan.noise_variances))
    assert charged <= plan.budget.pcost_exact
    assert dense_cost(plan) * people**2 == pytest.approx(float(charged), rel=1e-9)
    assert "replacing" in measurement.noise.guarantee


def test_several_records_of_a_person_cost_the_square_of_their_number():
    one = select(marginals(DOMAIN, up_to=2), budget=zcdp(1))
    three = select(marginals(DOMAIN, up_to=2), budget=zcdp(9), records_per_person=3)
    ratio = measured_cost(three, precision_of(one.noise_variances)) / measured_cost(
        one, precision_of(one.noise_variances)
    )
    assert ratio == Fraction(9)
    assert "up to 3 records" in measure(three, RECORDS).noise.guarantee

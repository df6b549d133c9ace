"""Plans and measurements of weighted records, against explicit matrices and sums in exact fractions."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from forms_of_records import dask_of

few = settings(derandomize=True, deadline=None, max_examples=25)
SIZES = (3, 2)
HOURS = rp.Weight("hours", maximum=60, unit=0.5)


def domain_of(weight, **rules):
    return rp.Domain({"job": rp.Attribute("job", 3, **rules), "sex": 2}, weight=weight)


def plan_of(weight, **options):
    workload = rp.marginals(rp.Domain({"job": 3, "sex": 2}, weight=weight), up_to=2)
    return rp.select(workload, **{"budget": rp.pcost(1), **options})


def noise_of(plan):
    return dict(zip(map(tuple, plan.closure), plan.noise_variances.tolist(), strict=True))


@given(
    maximum=st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(10**6)]),
    weights=st.lists(st.fractions(0, 1), min_size=6, max_size=6),
    persons=st.sampled_from([1, 3]),
)
@few
def test_the_cost_is_that_of_a_record_of_the_largest_weight_and_no_other_record_costs_more(maximum, weights, persons):
    plan = plan_of(rp.Weight("w", maximum=maximum, unit=maximum), records_per_person=persons)
    queries, covariance = dense.mechanism(SIZES, noise_of(plan))
    largest = dense.privacy_cost(queries, covariance) * float(persons * maximum) ** 2
    assert plan.pcost == pytest.approx(largest, rel=1e-9)
    assert plan.pcost <= 1
    record = persons * float(maximum) * np.array([float(weight) for weight in weights]) / max(1, float(sum(weights)))
    cost = record @ queries.T @ np.linalg.solve(covariance, queries @ record)  # anywhere in the simplex with 0
    assert cost <= plan.pcost * (1 + 1e-9)


@pytest.mark.parametrize("maximum", [60, 1, 0.5])
def test_replaced_records_with_weights_are_refused_whatever_their_maximum(maximum):
    """The total is not public where a record of weight 1/2 may be replaced by one of weight 1, or of weight 0."""
    weight = rp.Weight("hours", maximum=maximum, unit=0.5)
    with pytest.raises(rp.errors.BudgetError, match='write neighbors="add-remove" for weighted records'):
        plan_of(weight, neighbors="replace")
    with pytest.raises(rp.errors.BudgetError, match='write neighbors="add-remove" for weighted records'):
        replace(plan_of(weight), neighbors=rp.privacy.Neighbors("replace"))


@pytest.mark.parametrize(
    ("hours", "message"),
    [
        (60.5, 'weights above the declared maximum; declare a larger one, or above="clip"'),
        (-0.5, "negative weights"),
        (0.25, "weights that are not multiples of the declared unit"),
        (float("nan"), "missing weights"),
        (float("inf"), "weights that are not finite numbers"),
        (1e300, "weights above the declared maximum"),
    ],
)
@pytest.mark.parametrize("form", [lambda frame: frame, dask_of])
def test_what_is_no_weight_is_refused_and_not_quoted(hours, message, form):
    data = form(pd.DataFrame({"job": [0, 1], "sex": [0, 1], "hours": [1.0, hours]}))
    with pytest.raises(rp.errors.DataError) as caught:
        rp.measure(plan_of(HOURS), data)
    assert f"column 'hours' has {message.removeprefix('has ')}" in str(caught.value)
    assert caught.value.column == "hours"
    assert str(hours) not in str(caught.value)


def test_columns_of_another_type_and_without_the_weight_are_refused_before_the_charge():
    ledger = rp.Ledger(rp.pcost(10))
    for hours in (pd.to_datetime(["2020-01-01"]), [True]):
        with pytest.raises(rp.errors.DataError, match="column 'hours' is of a type that holds"):
            rp.measure(plan_of(HOURS), pd.DataFrame({"job": [0], "sex": [0], "hours": hours}), ledger=ledger)
    with pytest.raises(rp.errors.DataError, match=r"column 'hours' is missing"):
        rp.measure(plan_of(HOURS), pd.DataFrame({"job": [0], "sex": [0]}), ledger=ledger)
    with pytest.raises(rp.errors.DataError, match="2 and the weights in a last one; it has 2"):
        rp.measure(plan_of(HOURS), np.zeros((3, 2), dtype=int), ledger=ledger)
    assert not ledger.entries

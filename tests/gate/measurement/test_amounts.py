"""Counts and sums of amounts, from records to tables, against explicit matrices and exact fractions."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from amounts import Asked, asked, data_vector, records_of
from forms_of_records import counts
from inner_parts import precision
from random_plans import mechanism
from replayed_measuring import noise_left_out

few = settings(max_examples=6)
fewer = settings(max_examples=5)
PAY = rp.Attribute("pay", numeric=rp.Numeric(0, 30, bins=[10], outside="clip"), missing="Not stated")
PEOPLE = rp.Domain({"sex": ["F", "M"], "pay": PAY})
#: At the ends, inside, outside, missing.
RECORDS = pd.DataFrame({"sex": ["F", "M", "F", "M", "F", "M", "F"], "pay": [0.0, 10.0, 3.0, 17.0, 45.0, -2.0, np.nan]})


def plan_for(case: Asked, **options: object) -> rp.Plan:
    return rp.select(rp.Workload(case.domain, case.queries), budget=rp.pcost(1), **options)


def frame_of(domain: rp.Domain, records: list[tuple]) -> pd.DataFrame:
    columns = zip(*records, strict=True) if records else [[] for _ in domain.names]
    return pd.DataFrame(
        {
            attribute.name: np.array(column, dtype=np.int64 if attribute.numeric is None else np.float64)
            for attribute, column in zip(domain.attributes, columns, strict=True)
        }
    )


@given(case=asked(), bases=st.sampled_from(["optimal", "orthogonal"]))
@few
def test_costs_and_variances_are_those_of_the_explicit_mechanism(case, bases):
    plan = plan_for(case, bases=bases)
    B, covariance = mechanism(plan)
    assert plan.pcost == pytest.approx(dense.privacy_cost(B, covariance), rel=1e-9)
    for number, query in enumerate(case.queries):
        expected = np.diag(dense.least_squares_covariance(B, covariance, case.rows(number)))
        np.testing.assert_allclose(plan.variance(query).ravel(), expected, rtol=1e-6)
        cells = plan.covariance(query)
        np.testing.assert_allclose(np.diag(cells), expected, rtol=1e-6)


@given(case=asked(), seed=st.integers(0, 2**32 - 1))
@few
def test_no_fraction_of_records_costs_more_than_the_plan_says(case, seed):
    """Eq. (106): at the ends of bins, inside them, and at any mixture of all values of each attribute."""
    plan, chance = plan_for(case), np.random.default_rng(seed)
    B, covariance = mechanism(plan)
    information = B.T @ np.linalg.solve(covariance, B)
    for _ in range(20):
        mixed = dense.product(chance.dirichlet(np.full(size, 0.3))[:, None] for size in case.domain.sizes)[:, 0]
        assert mixed @ information @ mixed <= plan.pcost * (1 + 1e-9)


@pytest.mark.slow
@given(case=asked(), seed=st.integers(0, 2**32 - 1))
@fewer
def test_no_replaced_fraction_of_records_costs_more_than_the_plan_says(case, seed):
    plan, chance = plan_for(case, neighbors="replace", gap=1e-3), np.random.default_rng(seed)
    B, covariance = mechanism(plan)
    assert dense.pair_costs(B, covariance).max() <= plan.pcost * (1 + 1e-9)
    for _ in range(20):
        one, other = (
            dense.product(chance.dirichlet(np.full(size, 0.3))[:, None] for size in case.domain.sizes)[:, 0]
            for _ in range(2)
        )
        step = B @ (one - other)
        assert step @ np.linalg.solve(covariance, step) <= plan.pcost * (1 + 1e-9)


@given(case=asked(), data=st.data())
@few
def test_counted_integers_are_the_fractions_of_records_by_the_definition(case, data):
    domain, records = case.domain, data.draw(records_of(case.domain))
    vector = data_vector(domain, records).reshape(domain.sizes)
    sets = dense.subsets(range(len(domain)))
    for members in sets:
        D = int(np.prod([domain.attributes[i].denominator for i in members]))
        expected = vector.sum(axis=tuple(i for i in range(len(domain)) if i not in members)) * D
        assert counts(frame_of(domain, records), domain, members) == np.asarray(expected).tolist()


@pytest.mark.parametrize(
    ("column", "numeric", "rule", "message"),
    [
        (
            [5.0, 31.0],
            {},
            {},
            'numbers or amounts outside its limits; declare wider limits or outside="clip", or unknown=',
        ),
        ([5.0, -1.0], {}, {}, "column 'pay' has entries that are not finite numbers or amounts outside its limits"),
        ([5.0, np.inf], {"outside": "clip"}, {}, 'has entries that are not finite numbers; declare unknown="Other"'),
        ([2**70, -(2**70), 31.0], {}, {}, "amounts outside its limits"),
        ([Decimal(10) ** 60, Decimal(31)], {}, {}, "amounts outside its limits"),
        (
            [5.0, 7.25],
            {"between_units": "refuse"},
            {},
            'numbers or amounts between units or .* or between_units="round"',
        ),
        (["5", "secret"], {"outside": "clip"}, {}, "column 'pay' has entries that are not finite numbers; declare"),
        (["5", "1,000"], {"outside": "clip"}, {}, "column 'pay' has entries that are not finite numbers; declare"),
        ([5.0, Decimal("sNaN")], {}, {}, "column 'pay' has missing values"),
        ([5.0, np.nan], {}, {}, "column 'pay' has missing values"),
        ([[5], [7]], {}, {}, "column 'pay'"),
        ([True, False], {}, {}, "column 'pay' is of a type that holds truth values, and .* are amounts"),
    ],
)
def test_entries_that_are_no_amounts_are_refused_and_never_shown(column, numeric, rule, message):
    domain = rp.Domain({"pay": rp.Attribute("pay", numeric=rp.Numeric(0, 30, **numeric), **rule)})
    plan = rp.select(rp.Workload(domain, [{"pay": rp.Sum()}]), budget=rp.pcost(1))
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        rp.measure(plan, pd.DataFrame({"pay": column}))
    assert not any(word in str(caught.value) for word in ("31", "7.25", "secret", "inf", "1,000", "1180591", "E+60"))


def test_two_attributes_of_equal_bases_are_counted_each_in_its_own_fractions():
    domain = rp.Domain({"x": rp.Numeric(0, 10), "y": rp.Numeric(0, 20)})
    plan = rp.select(
        rp.Workload(domain, [{"x": rp.Sum()}, {"y": rp.Sum()}, {"x": rp.Sum(), "y": rp.Sum()}, ()]), budget=rp.pcost(1)
    )
    with pytest.MonkeyPatch.context() as patch:
        noise_left_out(patch)
        release = rp.reconstruct(rp.measure(plan, np.array([[3, 20], [10, 7]])))
    for query, expected in [({"x": rp.Sum()}, 13), ({"y": rp.Sum()}, 27), ({"x": rp.Sum(), "y": rp.Sum()}, 130)]:
        assert float(release[query].estimate.sum()) == pytest.approx(expected, abs=1e-4)


def test_finer_fractions_than_integers_hold_are_refused_before_the_charge():
    domain = rp.Domain({"x": rp.Numeric(0, 2**20), "y": rp.Numeric(0, 2**20 - 1)})
    plan = rp.select(rp.Workload(domain, [{"x": rp.Sum(), "y": rp.Sum()}]), budget=rp.pcost(1))
    ledger = rp.Ledger(rp.pcost(1))
    with pytest.raises(rp.errors.WorkloadError, match="counts in 1/1,099,510,579,200 of a record"):
        rp.measure(plan, np.zeros((3, 2), dtype=int), ledger=ledger)
    assert not ledger.entries


def test_records_that_are_too_many_for_integers_are_refused():
    """In tables of both, in which each counts 2**60 times."""
    many, records = rp.Domain({"x": rp.Numeric(0, 2**30), "y": rp.Numeric(0, 2**30)}), np.zeros((8, 2), dtype=int)
    with pytest.raises(rp.errors.DataError, match="more than 64-bit integers hold"):
        counts(records, many, (0, 1))
    assert counts(records[:1], many, (0, 1))[0][0] == 2**60
    two_blocks, many_units = (
        np.zeros((2**21, 2), dtype=np.int8),
        rp.Domain({"x": rp.Numeric(0, 2**30), "y": rp.Numeric(0, 2**12)}),
    )
    with pytest.raises(rp.errors.DataError, match="more than 64-bit integers hold"):  # in each of the two it is not
        counts(two_blocks, many_units, (0, 1))
    assert counts(records, many, ()) == 8


def test_counts_and_sums_by_bin_that_were_made_elsewhere_are_counted_like_the_records():
    frame = RECORDS.assign(pay=RECORDS.pay.clip(0, 30))
    amounts, bins = frame.dropna(), [(0, 10), (10, 31)]  # the last bin holds its high end
    own = [int(frame.pay[frame.sex == sex].isna().sum()) for sex in "FM"]
    by_bin = [
        [amounts.pay[(amounts.sex == sex) & (amounts.pay >= l) & (amounts.pay < h)] for l, h in bins] for sex in "FM"
    ]
    numbers, sums = ([[int(of(each)) for each in row] for row in by_bin] for of in (len, sum))
    cells = np.column_stack([PAY.numeric.ready_counts(numbers, sums), np.array(own) * PAY.numeric.denominator])
    for members in ((0, 1), (1,), (0,), ()):
        assert counts({("pay", "sex"): cells.T}, PEOPLE, members) == counts(frame, PEOPLE, members)
    contradicting = {("pay", "sex"): cells.T, ("sex",): np.array([4, 4])}
    with pytest.raises(rp.errors.DataError, match="contradict each other"):
        counts(contradicting, PEOPLE)
    assert counts({**contradicting, ("sex",): np.array([4, 3])}, PEOPLE) == [4, 3]
    with pytest.raises(rp.errors.DataError, match=r"each record 20 times along 'pay', .* by Numeric\.ready_counts"):
        counts({("pay", "sex"): cells.T + 1}, PEOPLE)


@pytest.mark.parametrize(
    ("counts", "sums", "message"),
    [
        ([1, 1], [11, 20], "not of amounts within them"),
        ([1, 1], [5, 9], "not of amounts within them"),
        ([1, 1], [5, np.nan], "must be finite"),
        ([2**60, 1], [5, 20], "as small as 64-bit"),
        ([1], [5], "equal shapes with 2 bins last"),
        ([1.0, 1.0], [5, 20], "and counts integers"),
        ([1, 1], [[5, 20]], "equal shapes"),
    ],
)
def test_sums_that_no_amounts_have_are_refused(counts, sums, message):
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        PAY.numeric.ready_counts(counts, sums)
    assert "11" not in str(caught.value)


def test_sums_and_counts_matter_alike_whatever_the_unit():
    """Eq. (107): in cents, dollars or thousands, the plan is the same."""
    found = []
    for factor in (1, 100, 1000):
        pay = rp.Attribute("pay", numeric=rp.Numeric(0, 30 * factor, unit=factor))
        workload = rp.Workload(rp.Domain({"sex": 2, "pay": pay}), [("sex",), {"sex": rp.Identity(), "pay": rp.Sum()}])
        plan = rp.select(workload, budget=rp.pcost(1))
        found.append((plan.loss_value, plan.rmse, plan.max_variance, *plan.errors()["privacy_share"]))
        assert plan.errors()["unit"].tolist() == ["counts", "pay"]
        assert plan.errors()["scale"].tolist() == [1, 30 * factor]
    np.testing.assert_allclose(found[1:], found[:1] * 2, rtol=1e-6)


def test_the_rule_of_the_noise_names_the_denominator_of_each_attribute_of_amounts():
    pay, hours = rp.Numeric(-10, 30, bins=[5], outside="clip"), rp.Numeric(0, 4)
    domain = rp.Domain({"sex": 2, "pay": pay, "hours": hours})
    plan = rp.select(rp.Workload(domain, [("sex", "pay"), {"hours": rp.Sum()}]), budget=rp.pcost(1))
    rule = precision.precision_rule(plan)
    assert rule.startswith(precision.PRECISION_RULE)
    assert rule.endswith(f"'pay' has D = {math.lcm(15, 25)}, 'hours' has D = 4")
    counts = rp.select(rp.Workload(rp.Domain({"sex": 2}), [("sex",)]), budget=rp.pcost(1))
    assert precision.precision_rule(counts) == precision.PRECISION_RULE

"""Kinds for means and quantiles: their rows against arithmetic on records, and what is refused."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from kinds import read_kind, tied

EDGES = [-10, 5, 30]
PAY = rp.Attribute("pay", numeric=rp.Numeric(-10, 30, bins=[5]), missing="Not stated")
AGE = rp.Attribute("age", bins=rp.Bins([0, 10, 20, 60]))
KINDS = [rp.Mean(), rp.Mean((0, 20)), rp.Quantiles(), rp.Quantiles(0.5)]
amounts = st.lists(st.integers(-10, 30), max_size=20)


def cells_of(values, missing):
    """The data vector of amounts in the bins of `PAY`, by linear interpolation, and of missing entries."""
    x = np.zeros(5)
    for value in values:
        bin_of = 1 if value >= 5 else 0
        low, high = EDGES[bin_of : bin_of + 2]
        x[2 * bin_of] += (high - value) / (high - low)
        x[2 * bin_of + 1] += (value - low) / (high - low)
    x[4] = missing
    return x


@given(values=amounts, missing=st.integers(0, 5), between=st.sampled_from([None, (-10, 30), (0, 20), (4.5, 5)]))
def test_the_answers_of_a_mean_are_the_count_and_what_amounts_are_above_and_below(values, missing, between):
    found = rp.Mean(between).on(PAY).matrix(5) @ cells_of(values, missing)
    least, most = between or (-10, 30)
    expected = [len(values), sum(v - least for v in values) / 40, sum(most - v for v in values) / 40]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(values=amounts, p=st.sampled_from([0.1, 0.5, 0.75]))
def test_the_answers_of_quantiles_are_the_count_and_the_excesses(values, p):
    below = sum(value < 5 for value in values)
    found = rp.Quantiles(p).on(PAY).matrix(5) @ cells_of(values, 3)
    np.testing.assert_allclose(found, [len(values), (1 - p) * below - p * (len(values) - below)], atol=1e-9)


@given(counts=st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_quantiles_of_several_probabilities_are_answered_one_after_another(counts):
    found = rp.Quantiles((0.25, 0.5)).on(AGE).matrix(3) @ counts
    up, total = np.cumsum(counts), sum(counts)
    expected = [total, up[0] - total / 4, up[1] - total / 4, up[0] - total / 2, up[1] - total / 2]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_a_kind_is_read_from_json_as_it_was_written(kind):
    on_pay = tied(kind, PAY)
    assert read_kind(json.loads(json.dumps(on_pay.to_json()))) == on_pay
    assert read_kind(json.loads(json.dumps(kind.to_json()))) == kind
    assert on_pay.written == kind
    assert eval(repr(kind), {"Mean": rp.Mean, "Quantiles": rp.Quantiles}) == kind


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "mean", "between": [1.0], "edges": None},
        {"kind": "mean", "between": [2.0, 1.0], "edges": None},
        {"kind": "mean", "between": [1, 2], "edges": None},
        {"kind": "mean", "between": [-20.0, 5.0], "edges": [-10.0, 30.0]},
        {"kind": "mean", "between": None, "edges": [1.0, 1.0]},
        {"kind": "mean", "between": None, "edges": [1.0, math.inf]},
        {"kind": "mean", "edges": None},
        {"kind": "quantiles", "probabilities": [], "edges": None, "ends": 1},
        {"kind": "quantiles", "probabilities": [1.5], "edges": None, "ends": 1},
        {"kind": "quantiles", "probabilities": 0.5, "edges": None, "ends": 1},
        {"kind": "quantiles", "probabilities": [0.5], "edges": None, "ends": 4},
        {"kind": "mean", "between": None, "edges": None, "per_bin": 2},
        {"kind": "sum", "by": None, "edges": None, "per_bin": 4},
        {"kind": "by bin", "of_bins": {"kind": "mean", "between": None, "edges": None}, "bins": 2},
    ],
)
def test_json_of_no_statistic_is_refused(value):
    with pytest.raises(rp.errors.FileFormatError):
        read_kind(value)


@pytest.mark.parametrize(
    ("kind", "given", "error", "message"),
    [
        *(
            (kind, given, TypeError, "positional argument")
            for kind, given in ((rp.Mean, (10, 20)), (rp.Sum, ("bin", 10)))
        ),
        *(
            (rp.Mean, (between,), rp.errors.WorkloadError, "between= must be two increasing numbers")
            for between in ((2, 1), (1, 1), (1,), "ab", 5, (math.nan, 1), (1, math.nan))
        ),
        *(
            (rp.Quantiles, given, rp.errors.WorkloadError, "different numbers between 0 and 1")
            for given in [
                *((each,) for each in (0, 1, -0.5, math.nan, (), (0.5, 0.5), "half", [[0.5]], (0.5, 1))),
                *((0.5, 0.5), (0.5, 2), (0.25, (0.5, 0.75)), (0.5, "half")),
            ]
        ),
    ],
)
def test_what_makes_no_statistic_is_refused(kind, given, error, message):
    with pytest.raises(error, match=message):
        kind(*given)


def test_probabilities_are_written_one_after_another_or_as_a_list():
    one, other = rp.Quantiles(0.25, 0.5, 0.75), rp.Quantiles([0.25, 0.5, 0.75])
    assert one == other == rp.Quantiles()
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("attribute", "kind", "message"),
    [
        (PAY, rp.Mean((-20, 5)), "not within the limits of 'pay', -10 and 30"),
        (AGE, rp.Mean(), "'age' has no amounts to average; declare Numeric"),
        (rp.Attribute("sex", 2), rp.Quantiles(), "'sex' has no amounts and no bins of numbers"),
        (rp.Attribute("pay", numeric=rp.Numeric(0, 9)), rp.Quantiles(), "'pay' has one bin"),
        (rp.Attribute("day", bins=rp.Bins(range(5001))), rp.Quantiles(), "'day' has too many bins for these quantiles"),
        (PAY, rp.Selection("[-10, 5)", of=rp.Mean()), "the mean of 'pay' cannot be about some of its own bins only"),
    ],
)
def test_an_attribute_that_a_statistic_does_not_fit_is_refused(attribute, kind, message):
    domain = rp.Domain({attribute.name: attribute})
    with pytest.raises(rp.errors.WorkloadError, match=message):
        rp.Workload(domain, [{attribute.name: kind}])


@pytest.mark.parametrize("kind", [rp.Mean(), rp.Quantiles(), rp.Sum()])
def test_two_statistics_of_a_query_and_one_without_an_attribute_are_refused(kind):
    with pytest.raises(rp.errors.WorkloadError, match="a query is for one statistic, got mean and quantiles"):
        rp.Workload(rp.Domain({"pay": PAY, "age": AGE}), [{"pay": rp.Mean(), "age": rp.Quantiles(0.5)}])
    with pytest.raises(rp.errors.WorkloadError, match=f"a kind {kind.name!r} has no matrix before"):
        kind.matrix(4)

"""Kinds on amounts do what their matrices over the ends of bins do."""

import json

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from amounts import attributes_of_amounts, kinds_of_attribute
from kinds import read_kind
from kinds import tied as tied_kind
from residualplanner import (
    Attribute,
    Bins,
    Custom,
    Domain,
    Hierarchy,
    Identity,
    Matching,
    Numeric,
    Prefix,
    Range,
    Sum,
    Workload,
)
from residualplanner.testing.kinds import require_kind

PAY = Attribute("pay", numeric=Numeric(0, 30, bins=[10]), missing="Not stated")


@st.composite
def tied(draw):
    """An attribute of amounts, a kind tied to it, how it was written, and its matrix by definition."""
    attribute = draw(attributes_of_amounts("x"))
    kind, rows = draw(kinds_of_attribute(attribute))
    return attribute, tied_kind(kind, attribute), kind, rows


@given(case=tied())
def test_every_method_is_about_the_matrix_of_the_definition(case):
    attribute, kind, written, rows = case
    assert not kind.is_identity
    require_kind(written, attribute, rows)


@given(case=tied())
def test_a_tied_kind_is_read_back_from_json_and_known_as_it_was_written(case):
    attribute, kind, written, _ = case
    again = read_kind(json.loads(json.dumps(kind.to_json())))
    assert hash(again) == hash(kind)
    assert tied_kind(again, attribute) == tied_kind(kind.written, attribute) == kind
    assert kind.meanings(attribute) == tuple(map(str, kind.labels(attribute)))
    assert isinstance(written, Hierarchy) or kind.written == written


def test_labels_are_those_of_bins():
    binned = Attribute("pay", bins=Bins([0, 10, 30]), missing="Not stated")
    groups = Hierarchy([{"poor": ["[0, 10)"], "rest": ["[10, 30]", "Not stated"]}])
    for kind in (Identity(), Prefix(), Range(), groups, Custom([[1, 1, 1], [0, 1, 0]])):
        assert tied_kind(kind, PAY).labels(PAY) == kind.labels(binned)
    assert tied_kind(Sum(), PAY).labels(PAY) == ("sum",)
    assert tied_kind(Sum("bin"), PAY).labels(PAY) == ("sum of [0, 10)", "sum of [10, 30]")


def test_units_and_scales_are_those_of_the_amounts_that_are_summed_up():
    pay = Attribute("pay", numeric=Numeric(-40, 30), about=rp.About(unit="dollars"))
    domain = Domain({"sex": 2, "pay": pay, "hours": Numeric(0, 60)})
    sums = [{"sex": Identity(), "pay": Sum()}, {"pay": Sum(), "hours": Sum()}]
    workload = Workload(domain, [("sex",), *sums])
    assert [workload.query_at(number).unit(domain) for number in range(3)] == ["counts", "dollars", "dollars × hours"]
    assert workload.scales.tolist() == [1, 40, 40 * 60]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"sex": Sum()}, "'sex' has no amounts to sum up; declare Numeric"),
        (("hours",), "'hours' has one bin, .* ask for its Sum\\(\\), or declare more bins$"),
        ({"sex": Matching(1), "pay": Matching(1)}, "a threshold cannot match 'pay'"),
        ({"pay": Custom([[1, 1], [0, 1]])}, "a column for each of its 3 values"),
        ({"pay": tied_kind(Sum(), Attribute("x", numeric=Numeric(0, 7)))}, None),
        ({"sex": tied_kind(Identity(), PAY)}, "is for amounts in 2 bins"),
        ({"hours": tied_kind(Identity(), PAY)}, "is for amounts in 2 bins"),
    ],
)
def test_kinds_that_do_not_fit_are_refused(query, message):
    domain = Domain({"sex": 2, "pay": PAY, "hours": Numeric(0, 60)})
    if message is None:  # a sum of another attribute is tied anew
        assert Workload(domain, [query]).kinds[0].edges == (0, 10, 30)
        return
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Workload(domain, [query])


@pytest.mark.parametrize(
    "value",
    [
        {"kind": "sum", "by": "bins", "edges": None},
        {"kind": "sum", "by": None, "edges": [0.0]},
        {"kind": "sum", "by": None, "edges": [1.0, 0.0]},
        {"kind": "sum", "by": None, "edges": [0.0, "1"]},
        {"kind": "by bin", "of_bins": {"kind": "identity"}, "bins": 0},
        {"kind": "by bin", "of_bins": {"kind": "matching", "at_least": 1}, "bins": 2},
        {"kind": "by bin", "of_bins": {"kind": "by bin", "of_bins": {"kind": "identity"}, "bins": 2}, "bins": 2},
    ],
)
def test_kinds_in_files_that_are_none_are_refused_but_not_those_of_as_many_bins_as_there_may_be(value):
    with pytest.raises(rp.errors.FileFormatError):
        read_kind(value)
    with pytest.raises(rp.errors.WorkloadError, match="by='bin'"):
        Sum("bins")
    kind = Sum(edges=tuple(map(float, range(5_001))))
    assert read_kind(json.loads(json.dumps(kind.to_json()))) == kind


QUERIES = [("a",), ("a", "b"), {"b": rp.Identity(), "pay": rp.Sum()}, {"a": rp.Identity(), "pay": rp.Mean()}]
LOSSES = {
    "sum": "sum",
    "equal weights": rp.losses.SumOfVariances("equal"),
    "max": "max",
    "targets": rp.losses.Targets([(("a",), 3.0), (("a", "b"), 2.0)]),
    "norm": lambda variances: cvxpy.norm(variances, 4),
    "squares": cvxpy.sum_squares,
}


def planned(unit, **options):
    domain = rp.Domain({"a": 4, "b": 2, "pay": rp.Numeric(0, 40 * unit, unit=unit)})
    return rp.select(rp.Workload(domain, QUERIES), **options)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.cases(1)
def test_errors_in_units_of_scales_and_the_budget_for_a_loss_do_not_depend_on_the_unit_of_an_amount(loss, neighbors):
    how = {"loss": LOSSES[loss], "neighbors": neighbors}
    small, large = (planned(unit, budget=rp.pcost(1), **how) for unit in (1, 10**9))
    mine, theirs = (plan.errors()["std_err"] / plan.errors()["scale"] for plan in (small, large))
    np.testing.assert_allclose(theirs, mine, rtol=5e-3)
    assert large.loss_value == pytest.approx(small.loss_value, rel=1e-4)
    small, large = (planned(unit, at_most=2.0, **how) for unit in (1, 10**9))
    assert float(large.budget.pcost) == pytest.approx(float(small.budget.pcost), rel=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_sum_of_amounts_beside_the_total_is_planned_without_a_warning():
    workload = rp.Workload(rp.Domain({"x": rp.Numeric(3, 4)}), [{"x": rp.Sum()}, {}])
    assert rp.select(workload, budget=rp.pcost(1)).suboptimality < 1e-3

"""Bases in plan files come back as they were; what a file says of them is checked, and their numbers computed anew."""

import numpy as np
import pytest
from hypothesis import given, settings

import residualplanner as rp
from random_plans import plans
from residualplanner import Custom, Domain, Identity, Plan, Prefix, Range, Workload, load_plan, marginals, pcost, select
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.plan.files import plan_from_archive, plan_hash, plan_to_archive
from saved_plans import forge, placed, require_equal, require_equal_bases, require_refused_arrays, through_a_file

DOMAIN = Domain({"a": 3, "b": 3, "c": 2, "d": 3})
ONE = integer_basis([[1, 0, 0], [1, 1, 0]], "optimal")
OTHER = integer_basis([[2, -1, 0], [1, 1, -3]], "given")
GIVEN = {"a": ONE, "b": OTHER, "d": integer_basis(ONE.matrix, "optimal")}


def small_plan(**bases) -> Plan:
    return select(marginals(DOMAIN, up_to=2), budget=pcost(1), bases={**GIVEN, **bases})


def test_bases_come_back_each_distinct_one_stored_once(tmp_path):
    plan = small_plan()
    require_equal_bases(plan, through_a_file(plan, tmp_path))
    header, arrays = plan_to_archive(plan)
    assert header["bases"] == ["optimal", "given"]
    assert sorted(name for name in arrays if name.startswith("bases/")) == [
        "bases/matrix_0",
        "bases/matrix_1",
        "bases/of_attribute",
    ]
    assert arrays["bases/of_attribute"].tolist() == [0, 1, -1, 0]


@settings(max_examples=30)
@given(plan=plans(most_cells=24, most_queries=1))
def test_random_bases_come_back(plan):
    plan = select(Workload(plan.domain, [()]), budget=pcost(1), bases=plan.bases)
    again = plan_from_archive(*plan_to_archive(plan))
    require_equal(plan, again)
    require_equal_bases(plan, again)


@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("bases", ["optimal", "orthogonal", {"d": OTHER}])
def test_plans_with_kinds_of_every_sort_come_back(tmp_path, loss, bases):
    halves = Custom([[1, 1, 0], [0, 0, 1]], labels=["low", "high"])
    kinds = {"a": Prefix(), "b": Range(), "d": halves if loss == "sum" else Identity()}
    plan = select(marginals(DOMAIN, up_to=2, kinds=kinds), budget=pcost(1), loss=loss, bases=bases, gap=1e-4)
    plan.save(tmp_path / "plan")
    again = load_plan(tmp_path / "plan")
    require_equal(plan, again)
    require_equal_bases(plan, again)
    assert plan.errors().equals(again.errors())
    for query in again.workload:
        np.testing.assert_array_equal(plan.covariance(query), again.covariance(query))


def test_a_kind_that_its_basis_does_not_span_is_refused_in_a_file(tmp_path):
    halves = Custom([[1, 1, 0], [0, 0, 1]])
    domain = Domain({"a": 3})
    plan = select(Workload(domain, [{"a": halves}]), budget=pcost(1), bases={"a": integer_basis([[1, 1, -2]], "given")})
    header, arrays = plan_to_archive(plan)
    with pytest.raises(
        rp.errors.FileFormatError, match="the basis of 'a' has 1 answers, from which prefix does not follow"
    ):
        load_plan(forge(tmp_path / "forged", plan, {**header, "kinds": [{"kind": "prefix"}]}, arrays))


def test_the_hash_of_a_plan_is_of_its_bases_and_their_families_too():
    plan = small_plan()
    others = [
        small_plan(d=OTHER),
        small_plan(b=integer_basis(OTHER.matrix, "orthogonal")),
        small_plan(b=integer_basis(-OTHER.matrix, "given")),
    ]
    assert len({plan_hash(each) for each in (plan, *others)}) == 4
    np.testing.assert_array_equal(plan.noise_variances, others[1].noise_variances)
    np.testing.assert_allclose(plan.noise_variances, others[2].noise_variances)


def test_a_basis_of_larger_entries_costs_more_and_is_refused(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    larger = {**arrays, "bases/matrix_1": arrays["bases/matrix_1"] * 2}
    with pytest.raises(rp.errors.BudgetError, match="more than the budget"):
        load_plan(forge(tmp_path / "forged", plan, header, larger))


def test_a_basis_of_smaller_entries_is_another_plan_and_refused(tmp_path):
    plan = small_plan(b=integer_basis(OTHER.matrix * 2, "given"))
    header, arrays = plan_to_archive(plan)
    smaller = {**arrays, "bases/matrix_1": OTHER.matrix}
    with pytest.raises(rp.errors.BudgetError, match="the plan states pcost"):
        load_plan(forge(tmp_path / "forged", plan, header, smaller))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bases/matrix_0", lambda B: B.astype(np.float64), "must be int64, got float64"),
        ("bases/matrix_0", lambda B: B.astype(np.int32), "must be int64, got int32"),
        ("bases/matrix_0", lambda B: B[0], "invalid bases/matrix_0: .* nested basis"),
        ("bases/matrix_0", lambda B: B[:0], "invalid bases/matrix_0: a basis must be integers of shape"),
        (
            "bases/matrix_0",
            lambda B: np.eye(3, dtype=np.int64),
            "invalid bases/matrix_0: a basis must be integers of shape",
        ),
        ("bases/matrix_0", lambda B: B * 0, "independent"),
        ("bases/matrix_0", lambda B: B[[0, 0]], "independent"),
        ("bases/matrix_0", lambda B: B[:1], "from which identity does not follow"),
        ("bases/matrix_0", lambda B: B * 2**51, "at most 2"),
        ("bases/matrix_0", lambda B: B + np.array([[0, 0, -(2**63)], [0, 0, 0]]), "at most 2"),
        ("bases/matrix_0", lambda B: np.hstack([B, [[0], [1]]]), "for 4 values, but it has 3|of shape"),
        ("bases/matrix_1", lambda B: GIVEN["a"].matrix, "each basis once|more than the budget|states pcost"),
        ("bases/of_attribute", lambda index: index[:-1], "must be int32 of shape"),
        ("bases/of_attribute", lambda index: index.astype(np.int64), "must be int32 of shape"),
        ("bases/of_attribute", lambda index: index + 1, "in the order in which they are used|independent"),
        ("bases/of_attribute", lambda index: 1 - index, "in the order in which they are used"),
        ("bases/of_attribute", lambda index: np.where(index < 0, -2, index), "in the order in which"),
        ("bases/of_attribute", lambda index: np.full_like(index, -1), "in the order in which"),
        ("bases/of_attribute", lambda index: np.array([0, 1, 1, 0], dtype=np.int32), "for 3 values, but it has 2"),
        ("bases/of_attribute", lambda index: np.array([-1, 0, -1, 1], dtype=np.int32), "states pcost|than the budget"),
    ],
)
def test_bases_that_cannot_be_are_refused(tmp_path, name, change, message):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    changed = change(arrays[name])
    with pytest.raises((rp.errors.FileFormatError, rp.errors.BudgetError), match=message):
        load_plan(forge(tmp_path / "forged", plan, header, {**arrays, name: changed}))


@pytest.mark.parametrize(
    "families",
    [
        None,
        "optimal",
        [],
        ["optimal"],
        ["optimal", "given", "given"],
        [1, 2],
        [None, "given"],
        ["optimal", "subtraction"],
    ]
    + [["optimal", word] for word in ("", "Given", "a b", "x" * 41, "é\n")],
)
def test_families_that_cannot_be_are_refused(tmp_path, families):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    with pytest.raises(rp.errors.FileFormatError, match=r"famil|a matrix for each basis"):
        load_plan(forge(tmp_path / "forged", plan, placed(header, ("bases",), families), arrays))


@pytest.mark.parametrize("name", ["bases/matrix_0", "bases/matrix_1", "bases/of_attribute"])
def test_a_basis_that_is_missing_or_superfluous_is_refused(tmp_path, name):
    require_refused_arrays(tmp_path, small_plan(), name)


def test_the_same_basis_stored_twice_is_refused(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    twice = {
        **arrays,
        "bases/matrix_2": arrays["bases/matrix_0"],
        "bases/of_attribute": np.array([0, 1, -1, 2], dtype=np.int32),
    }
    changed = {**header, "bases": ["optimal", "given", "optimal"]}
    with pytest.raises(rp.errors.FileFormatError, match="a plan must have each basis once"):
        load_plan(forge(tmp_path / "forged", plan, changed, twice))

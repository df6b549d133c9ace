"""Bases by set in plan files come back as they were; what a file says of them is checked, and their cost found anew."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import residualplanner as rp
from random_plans import plan_by_set, plans_by_set, sample_workload
from residualplanner import Domain, Identity, Plan, Prefix, Workload, load_plan, pcost
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.plan.files import plan_from_archive, plan_hash, plan_to_archive
from residualplanner.method.strategy.basis_groups import basis_groups
from saved_plans import (
    changes,
    forge,
    placed,
    require_equal,
    require_equal_bases,
    require_refused_arrays,
    through_a_file,
)

REFUSALS = (rp.errors.FileFormatError, rp.errors.BudgetError, rp.errors.DomainError, rp.errors.WorkloadError)
OTHERS = [None, True, -1, 2, 10**30, 0.5, "text", [], [[]], {}, ["a"]]


def small_plan(seed: int = 6) -> Plan:
    plan = plan_by_set(sample_workload(), seed)
    return replace(plan, budget=pcost(Fraction(plan.pcost)))


def true_cost(plan: Plan) -> Fraction:
    """What the record that costs most costs, over all cells of the domain."""
    bases = {members: [plan.strategy.basis(members, i) for i in members] for members in plan.closure}
    worst = Fraction(0)
    for record in itertools.product(*map(range, plan.domain.sizes)):
        total = Fraction(0)
        for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
            cost = 1 / Fraction(variance)
            for i, basis in zip(members, bases[members], strict=True):
                column = None if basis.matrix is None else basis.matrix[:, record[i]].tolist()
                cost *= basis.pcost if column is None else sum(entry**2 for entry in column)
            total += cost
        worst = max(worst, total)
    return worst


def is_refused(load) -> bool:
    """The file is refused as one of ours, or its plan costs no more than it states and may spend."""
    try:
        plan = load()
    except REFUSALS:
        return True
    assert true_cost(plan) <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    return False


def test_each_matrix_is_stored_once_and_every_factor_names_its_own(tmp_path):
    plan = small_plan()
    require_equal_bases(plan, through_a_file(plan, tmp_path))
    header, arrays = plan_to_archive(plan)
    names = sorted(name for name in arrays if name.startswith("bases/"))
    others = ["bases/messages", "bases/of_attribute", "bases/of_factor", "bases/varying"]
    assert names == [*(f"bases/matrix_{i}" for i in range(len(names) - 4)), *others]
    assert header["bases"] == ["optimal_by_set"] * (len(names) - 4)
    assert arrays["bases/varying"].tolist() == [0, 1]
    assert arrays["bases/of_factor"].shape == (sum(i < 2 for members in plan.closure for i in members),)


@given(plan=plans_by_set())
@settings(max_examples=50, deadline=None)
def test_random_plans_come_back(plan):
    again = plan_from_archive(*plan_to_archive(plan))
    require_equal(plan, again)
    require_equal_bases(plan, again)
    assert plan_hash(plan) == plan_hash(again)


def test_how_bases_are_listed_makes_no_other_file():
    """Bases that no place has, in another order, and twice, are written as if each were there once."""
    plan = small_plan()
    by_set = plan.strategy
    bases = (subtraction_basis(9), *reversed(by_set.bases), *by_set.bases)
    turned = np.where(np.arange(len(by_set.factor_bases)) % 2, len(by_set.bases) - by_set.factor_bases, 0)
    again = np.where(turned > 0, turned, by_set.factor_bases + 1 + len(by_set.bases))
    other = replace(
        plan, strategy=rp.strategies.varying_strategy(by_set.closure, plan.domain.sizes, bases, again, by_set.messages)
    )
    require_equal_bases(plan, other)
    assert plan_hash(plan) == plan_hash(other)


def test_bases_of_equal_matrices_keep_their_families():
    plan = small_plan()
    by_set = plan.strategy
    count = len(by_set.bases)
    renamed = tuple(b if b.matrix is None else integer_basis(b.matrix, "given") for b in by_set.bases)
    places = by_set.factor_bases + count * (np.arange(len(by_set.factor_bases)) % 2)
    both = (*by_set.bases, *renamed)
    mixed = replace(
        plan, strategy=rp.strategies.varying_strategy(by_set.closure, plan.domain.sizes, both, places, by_set.messages)
    )
    again = plan_from_archive(*plan_to_archive(mixed))
    require_equal_bases(mixed, again)
    assert plan_hash(mixed) == plan_hash(again) != plan_hash(plan)


def test_a_plan_about_the_total_alone_comes_back():
    plan = plan_by_set(Workload(Domain({"a": 3}), [()]))
    require_equal_bases(plan, plan_from_archive(*plan_to_archive(plan)))


def test_plans_with_one_basis_for_each_attribute_are_written_as_before():
    plan = replace(small_plan(), budget=pcost(99))
    one = replace(plan, strategy=rp.strategies.constant_strategy(plan.closure, plan.strategy.of_attributes))
    header, arrays = plan_to_archive(one)
    assert sorted({name.rstrip("0123456789") for name in arrays if name.startswith("bases/")}) == [
        "bases/matrix_",
        "bases/of_attribute",
    ]
    assert set(header) == set(plan_to_archive(plan)[0])
    assert not plan_from_archive(header, arrays).strategy.varying.any()


def test_other_messages_are_another_bound_which_is_computed(tmp_path):
    """They never make a plan cheaper than it is: what is stated must be what they prove."""
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    for scale in (0.0, 0.5, 2.0, 1e300):
        other = {**arrays, "bases/messages": arrays["bases/messages"] * scale}
        with pytest.raises(rp.errors.BudgetError, match=r"states pcost|more than the budget"):
            load_plan(forge(tmp_path / "forged", plan, header, other))
        proved = replace(plan, budget=pcost("1e305"), strategy=replace(plan.strategy, messages=other["bases/messages"]))
        honest = {**header, "pcost": proved.pcost, "budget": proved.budget.to_json()}
        loaded = load_plan(forge(tmp_path / "honest", plan, honest, other))
        assert loaded.pcost == proved.pcost != plan.pcost
        assert true_cost(loaded) <= Fraction(loaded.pcost)


def test_a_kind_that_does_not_follow_is_refused_in_a_file(tmp_path):
    plan = plan_by_set(Workload(Domain({"a": 3, "b": 2}), [{"a": Prefix(), "b": Prefix()}]), 1)
    coarse = integer_basis([[1, 1, -2]], "given")
    bases = tuple(coarse if basis.size == 3 else basis for basis in plan.strategy.bases)
    by_set = replace(plan.strategy, bases=bases)
    with pytest.raises(
        rp.errors.WorkloadError, match="the basis of 'a' has 1 answers, from which prefix does not follow"
    ):
        replace(plan, strategy=by_set, noise_variances=np.full(4, 1e9))
    header, arrays = plan_to_archive(plan)
    names = [name for name, array in arrays.items() if name.startswith("bases/matrix") and array.shape == (2, 3)]
    assert names
    forged = {**arrays, **{name: np.array([[1, 1, -2 - i]]) for i, name in enumerate(names)}}
    with pytest.raises(rp.errors.FileFormatError, match=r"does not follow|the same queries"):
        load_plan(forge(tmp_path / "forged", plan, header, forged))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bases/matrix_0", lambda B: B.astype(np.float64), "must be int64, got float64"),
        ("bases/matrix_0", lambda B: B[None], "invalid bases/matrix_0: a basis must be integers of shape"),
        ("bases/matrix_0", lambda B: B[0], "invalid bases/matrix_0: the array of a nested basis ends too early"),
        ("bases/matrix_0", lambda B: B * 0, "independent"),
        ("bases/matrix_0", lambda B: B[:1], "equally many answers in all sets"),
        (
            "bases/matrix_0",
            lambda B: np.hstack([B, [[0]] * (len(B) - 1) + [[1]]]),
            "one size and equally many|of shape",
        ),
        ("bases/matrix_0", lambda B: B * 2, "more than the budget"),
        ("bases/matrix_0", lambda B: B[::-1] * -1, "none"),
        ("bases/matrix_1", lambda B: B * 2, "more than the budget"),
        ("bases/of_factor", lambda index: index[:-1], "must be int32 of shape"),
        ("bases/of_factor", lambda index: index[:, None], "must be int32 of shape"),
        ("bases/of_factor", lambda index: index.astype(np.int64), "must be int32 of shape"),
        ("bases/of_factor", lambda index: index.astype(np.float64), "must be int32 of shape"),
        ("bases/of_factor", lambda index: index[::-1], "in the order in which they are used|equally many answers"),
        ("bases/of_attribute", lambda index: np.where(index < 0, -2, index), "in the order in which"),
        ("bases/of_factor", lambda index: np.full_like(index, -1), "in the order in which"),
        (
            "bases/of_attribute",
            lambda index: np.where(np.arange(len(index)) == 0, -1, index),
            "in the order|equally many",
        ),
        ("bases/messages", lambda told: told[:-1], "must have [0-9]+ messages, finite"),
        ("bases/messages", lambda told: np.append(told, 0.0), "must have [0-9]+ messages, finite"),
        ("bases/messages", lambda told: told.astype(np.float32), "must be float64 of shape"),
        ("bases/messages", lambda told: told.astype(np.int64), "must be float64 of shape"),
        ("bases/messages", lambda told: told[:, None], "must be float64 of shape"),
        ("bases/messages", lambda told: np.where(told == told[3], np.nan, told), "must have [0-9]+ messages, finite"),
        ("bases/messages", lambda told: np.where(told == told[3], np.inf, told), "must have [0-9]+ messages, finite"),
        ("bases/messages", lambda told: told + 1e307, "states pcost|more than the budget"),
    ],
)
def test_bases_by_set_that_cannot_be_are_refused(tmp_path, name, change, message):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    forged = forge(tmp_path / "forged", plan, header, {**arrays, name: change(arrays[name])})
    if message == "none":  # the rows of a basis in another order and of other signs cost the same, and are as good
        assert load_plan(forged).pcost == plan.pcost
        return
    with pytest.raises((rp.errors.FileFormatError, rp.errors.BudgetError), match=message):
        load_plan(forged)


@pytest.mark.parametrize("name", ["bases/matrix_0", "bases/matrix_3", "bases/of_factor", "bases/messages"])
def test_an_array_that_is_missing_or_superfluous_is_refused(tmp_path, name):
    require_refused_arrays(tmp_path, small_plan(), name)


@pytest.mark.slow
def test_any_value_of_the_header_may_be_changed_in_type_without_harm():
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    refused = total = 0
    for path, _ in changes(header):
        for other in OTHERS if path else ():
            refused += is_refused(lambda path=path, other=other: plan_from_archive(placed(header, path, other), arrays))
            total += 1
    assert refused > 0.8 * total


def test_any_number_of_the_arrays_may_be_changed_without_harm():
    """One number at a time, in every array that is about bases or noise: refused, or the plan costs what it states."""
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    generous = {**header, "budget": pcost("1e9").to_json()}
    rng, refused, total = np.random.default_rng(1), 0, 0
    for name, array in arrays.items():
        if not name.startswith(("bases/", "noise")):
            continue
        for place in range(array.size):
            changed = array.copy()
            changed.flat[place] += rng.choice([-3, -1, 1, 2])
            told = {**arrays, name: changed}
            refused += is_refused(lambda told=told: plan_from_archive(header, told))
            refused += is_refused(lambda told=told: plan_from_archive(generous, told))
            total += 2
    assert refused > 0.8 * total


def test_attributes_queried_for_single_values_have_no_matrix():
    plan = plan_by_set(Workload(Domain({"a": 3, "b": 4}), [{"a": Identity(), "b": Prefix()}]), 1)
    header, arrays = plan_to_archive(plan)
    assert arrays["bases/of_attribute"].tolist()[0] == -1
    assert arrays["bases/varying"].tolist() == [1]
    assert plan_from_archive(header, arrays).strategy.basis((0, 1), 0).matrix is None
    singles = plan_to_archive(plan_by_set(Workload(Domain({"a": 3, "b": 4}), [("a", "b")]), 1))
    assert singles[0]["bases"] == []
    assert plan_from_archive(*singles).strategy.messages.shape == (0,)


@given(plan=plans_by_set())
@settings(max_examples=30, deadline=None)
def test_the_order_of_stored_answers_does_not_depend_on_how_bases_are_listed(plan):
    """Answers are stored group after group: a plan and its file must agree on the groups and their order."""
    strategy = plan.strategy
    turned = replace(
        strategy,
        bases=strategy.bases[::-1],
        of_attribute=len(strategy.bases) - 1 - strategy.of_attribute,
        of_factor=len(strategy.bases) - 1 - strategy.of_factor,
    )
    for other in (turned, plan_from_archive(*plan_to_archive(plan)).strategy):
        mine, theirs = basis_groups(strategy), basis_groups(other)
        assert mine.group.tolist() == theirs.group.tolist()
        assert mine.answer_shapes == theirs.answer_shapes

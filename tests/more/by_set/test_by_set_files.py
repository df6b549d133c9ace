"""Bases by set in plan files come back as they were; what a file says of them is checked, and their cost found anew."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import residualplanner as rp
from inner_parts import basis_groups, plan_from_archive, plan_hash, plan_to_archive
from random_plans import basis_of, plan_by_set, plans_by_set, sample_workload
from residualplanner import Domain, Identity, Prefix, Workload, load_plan, pcost
from saved_plans import changes, forge, placed, removed, require_equal, require_equal_bases

REFUSALS = (rp.errors.FileFormatError, rp.errors.BudgetError, rp.errors.DomainError, rp.errors.WorkloadError)
OTHERS = [None, True, -1, 2, 10**30, 0.5, "text", [], [[]], {}, ["a"]]
PLAN = plan_by_set(sample_workload(), 6)
PLAN = replace(PLAN, budget=pcost(Fraction(PLAN.pcost)))
HEADER, ARRAYS = plan_to_archive(PLAN)


def true_cost(plan):
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


def is_refused(header, arrays):
    """The file is refused as one of ours, or its plan costs no more than it states and may spend."""
    try:
        plan = plan_from_archive(header, arrays)
    except REFUSALS:
        return True
    assert true_cost(plan) <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    return False


def with_bases(strategy, bases, factor_bases):
    """The strategy with its bases listed in another way."""
    sizes = PLAN.domain.sizes
    return rp.strategies.varying_strategy(strategy.closure, sizes, bases, factor_bases, strategy.messages)


def test_each_matrix_is_stored_once_and_every_factor_names_its_own():
    names = sorted(name for name in ARRAYS if name.startswith("bases/"))
    others = ["bases/messages", "bases/of_attribute", "bases/of_factor", "bases/varying"]
    assert names == [*(f"bases/matrix_{i}" for i in range(len(names) - 4)), *others]
    assert HEADER["bases"] == ["optimal_by_set"] * (len(names) - 4)
    assert ARRAYS["bases/varying"].tolist() == [0, 1]
    assert ARRAYS["bases/of_factor"].shape == (sum(i < 2 for members in PLAN.closure for i in members),)


@given(plan=plans_by_set())
@settings(max_examples=40, deadline=None)
def test_random_plans_come_back_and_store_answers_in_one_order_however_bases_are_listed(plan):
    """Answers are stored group after group: a plan and its file must agree on the groups and their order."""
    again, strategy = plan_from_archive(*plan_to_archive(plan)), plan.strategy
    require_equal(plan, again)
    require_equal_bases(plan, again)
    assert plan_hash(plan) == plan_hash(again)
    turned = replace(
        strategy,
        bases=strategy.bases[::-1],
        of_attribute=len(strategy.bases) - 1 - strategy.of_attribute,
        of_factor=len(strategy.bases) - 1 - strategy.of_factor,
    )
    for other in (turned, again.strategy):
        mine, theirs = basis_groups(strategy), basis_groups(other)
        assert mine.group.tolist() == theirs.group.tolist()
        assert mine.answer_shapes == theirs.answer_shapes


def test_how_bases_are_listed_makes_no_other_file_but_their_families_do():
    """Bases that no place has, in another order, and twice, are written as if each were there once."""
    by_set = PLAN.strategy
    count, is_odd = len(by_set.bases), np.arange(len(by_set.factor_bases)) % 2
    bases = (basis_of(9, None), *reversed(by_set.bases), *by_set.bases)
    places = np.where(is_odd & (by_set.factor_bases < count), count - by_set.factor_bases, 0)
    places = np.where(places > 0, places, by_set.factor_bases + 1 + count)
    other = replace(PLAN, strategy=with_bases(by_set, bases, places))
    require_equal_bases(PLAN, other)
    assert plan_hash(PLAN) == plan_hash(other)
    renamed = tuple(b if b.matrix is None else basis_of(b.size, b.matrix) for b in by_set.bases)
    mixed = replace(PLAN, strategy=with_bases(by_set, (*by_set.bases, *renamed), by_set.factor_bases + count * is_odd))
    again = plan_from_archive(*plan_to_archive(mixed))
    require_equal_bases(mixed, again)
    assert plan_hash(mixed) == plan_hash(again) != plan_hash(PLAN)


def test_plans_with_one_basis_for_each_attribute_or_none_are_written_as_before():
    one = rp.strategies.constant_strategy(PLAN.closure, PLAN.strategy.of_attributes)
    header, arrays = plan_to_archive(replace(PLAN, budget=pcost(99), strategy=one))
    names = {name.rstrip("0123456789") for name in arrays if name.startswith("bases/")}
    assert names == {"bases/matrix_", "bases/of_attribute"}
    assert set(header) == set(HEADER)
    assert not plan_from_archive(header, arrays).strategy.varying.any()
    values = plan_by_set(Workload(Domain({"a": 3, "b": 4}), [{"a": Identity(), "b": Prefix()}]), 1)
    header, arrays = plan_to_archive(values)
    assert arrays["bases/of_attribute"].tolist()[0] == -1
    assert arrays["bases/varying"].tolist() == [1]
    assert plan_from_archive(header, arrays).strategy.basis((0, 1), 0).matrix is None
    singles = plan_to_archive(plan_by_set(Workload(Domain({"a": 3, "b": 4}), [("a", "b")]), 1))
    assert singles[0]["bases"] == []
    assert plan_from_archive(*singles).strategy.messages.shape == (0,)
    total = plan_by_set(Workload(Domain({"a": 3}), [()]))
    require_equal_bases(total, plan_from_archive(*plan_to_archive(total)))


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, 1e300])
def test_other_messages_are_another_bound_which_is_computed(tmp_path, scale):
    """They never make a plan cheaper than it is: what is stated must be what they prove."""
    other = {**ARRAYS, "bases/messages": ARRAYS["bases/messages"] * scale}
    with pytest.raises(rp.errors.BudgetError, match=r"states pcost|more than the budget"):
        load_plan(forge(tmp_path / "forged", PLAN, HEADER, other))
    proved = replace(PLAN, budget=pcost("1e305"), strategy=replace(PLAN.strategy, messages=other["bases/messages"]))
    honest = {**HEADER, "pcost": proved.pcost, "budget": proved.budget.to_json()}
    loaded = load_plan(forge(tmp_path / "honest", PLAN, honest, other))
    assert loaded.pcost == proved.pcost != PLAN.pcost
    assert true_cost(loaded) <= Fraction(loaded.pcost)


def test_a_kind_that_does_not_follow_is_refused_in_a_file(tmp_path):
    plan = plan_by_set(Workload(Domain({"a": 3, "b": 2}), [{"a": Prefix(), "b": Prefix()}]), 1)
    coarse = basis_of(3, [[1, 1, -2]])
    by_set = replace(plan.strategy, bases=tuple(coarse if basis.size == 3 else basis for basis in plan.strategy.bases))
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


FORM, SHAPE, MESSAGES = "the form in which it is written", "must be int32 of shape", "must have [0-9]+ messages, finite"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bases/matrix_0", lambda B: B.astype(np.float64), "must be int64 of shape .*, got float64"),
        ("bases/matrix_0", lambda B: B[None], "invalid bases/matrix_0: a basis must be integers of shape"),
        ("bases/matrix_0", lambda B: B[0], "invalid bases/matrix_0: the array of a nested basis ends too early"),
        ("bases/matrix_0", lambda B: B * 0, "independent"),
        ("bases/matrix_0", lambda B: B[:1], "equally many answers in all sets"),
        ("bases/matrix_0", lambda B: np.hstack([B, np.eye(len(B), 1, 1 - len(B), int)]), "one size and|of shape"),
        ("bases/matrix_0", lambda B: B * 2, "more than the budget"),
        ("bases/matrix_0", lambda B: B[::-1] * -1, None),  # rows in another order and of other signs are as good
        ("bases/of_factor", lambda index: index[:-1], SHAPE),
        ("bases/of_factor", lambda index: index[:, None], SHAPE),
        ("bases/of_factor", lambda index: index.astype(np.int64), SHAPE),
        ("bases/of_factor", lambda index: index[::-1], f"{FORM}|equally many answers"),
        ("bases/of_factor", lambda index: np.full_like(index, -1), "must name one of its"),
        ("bases/of_attribute", lambda index: np.where(index < 0, -2, index), FORM),
        (
            "bases/of_attribute",
            lambda index: np.where(np.arange(len(index)) == 0, -1, index),
            f"{FORM}|equally|nested one has it",
        ),
        ("bases/messages", lambda told: told[:-1], MESSAGES),
        ("bases/messages", lambda told: np.append(told, 0.0), MESSAGES),
        ("bases/messages", lambda told: np.where(told == told[3], np.nan, told), MESSAGES),
        ("bases/messages", lambda told: np.where(told == told[3], np.inf, told), MESSAGES),
        ("bases/messages", lambda told: told.astype(np.float32), "must be float64 of shape"),
        ("bases/messages", lambda told: told[:, None], "must be float64 of shape"),
        ("bases/messages", lambda told: told + 1e307, "states pcost|more than the budget"),
    ],
)
def test_bases_by_set_that_cannot_be_are_refused(tmp_path, name, change, message):
    forged = forge(tmp_path / "forged", PLAN, HEADER, {**ARRAYS, name: change(ARRAYS[name])})
    if message is None:
        assert load_plan(forged).pcost == PLAN.pcost
        return
    with pytest.raises((rp.errors.FileFormatError, rp.errors.BudgetError), match=message):
        load_plan(forged)


@pytest.mark.parametrize("name", ["bases/matrix_0", "bases/matrix_3", "bases/of_factor", "bases/messages"])
def test_an_array_that_is_missing_or_superfluous_is_refused(name):
    for altered in (removed(ARRAYS, (name,)), {**ARRAYS, f"{name}_more": ARRAYS[name]}):
        with pytest.raises(rp.errors.FileFormatError):
            plan_from_archive(HEADER, altered)


@pytest.mark.slow
def test_any_value_of_the_header_may_be_changed_in_type_without_harm():
    refused = [
        is_refused(placed(HEADER, path, other), ARRAYS) for path, _ in changes(HEADER) if path for other in OTHERS
    ]
    assert np.mean(refused) > 0.8


def test_any_number_of_the_arrays_may_be_changed_without_harm():
    """One number at a time, in every array that is about bases or noise: refused, or the plan costs what it states."""
    generous = {**HEADER, "budget": pcost("1e9").to_json()}
    rng, refused = np.random.default_rng(1), []
    for name, array in ARRAYS.items():
        for place in range(array.size if name.startswith(("bases/", "noise")) else 0):
            changed = array.copy()
            changed.flat[place] += rng.choice([-3, -1, 1, 2])
            refused += [is_refused(header, {**ARRAYS, name: changed}) for header in (HEADER, generous)]
    assert np.mean(refused) > 0.8

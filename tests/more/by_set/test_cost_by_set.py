"""The cost of plans with bases by set is bounded in exact arithmetic, for any messages, and found in little time."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from random_plans import base_mechanisms, bases_by_set, basis_of, messages_of_factor, plans_by_set
from residualplanner import Domain, Prefix, Workload
from residualplanner.method.strategy.costs import cost_upper_bound, exact_cost

#: Messages from none to such that all other numbers vanish beside them.
SCALES = (0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300)


def lengths_of(basis):
    """The exact squared lengths of the columns, or p for each value."""
    if basis.matrix is None:
        return [Fraction(basis.size - 1, basis.size)] * basis.size
    return [Fraction(sum(int(x) ** 2 for x in column)) for column in basis.matrix.T]


def cost_of_cell(by_set, precision, members, cell):
    """c_A(r), by its definition."""
    return Fraction(precision) * math.prod(
        lengths_of(by_set.basis(members, i))[value] for i, value in zip(members, cell, strict=True)
    )


def messages_of(by_set, members, cell):
    told = [messages_of_factor(by_set, members, i) for i in members]
    return [Fraction(float(each[value])) if len(each) else Fraction(0) for each, value in zip(told, cell, strict=True)]


def right_side(by_set, sizes, precision):
    """(41), term by term in fractions."""
    total, alone = Fraction(0), {}
    for members, w in zip(by_set.closure, precision, strict=True):
        cells = list(itertools.product(*(range(sizes[i]) for i in members)))
        costs = [cost_of_cell(by_set, w, members, cell) for cell in cells]
        if len(members) == 1:
            alone[members[0]] = costs
            continue
        told = [messages_of(by_set, members, cell) for cell in cells]
        total += max(own - sum(each) for own, each in zip(costs, told, strict=True))
        for cell, each in zip(cells, told, strict=True) if members else ():
            for axis, i in enumerate(members):
                if not any(value for other, value in enumerate(cell) if other != axis):
                    alone[i][cell[axis]] += each[axis]
    return total + sum(map(max, alone.values()))


def costs_of_records(by_set, sizes, precision):
    """What a record costs, for every cell of the domain."""
    for record in itertools.product(*map(range, sizes)):
        yield sum(
            cost_of_cell(by_set, w, members, [record[i] for i in members])
            for members, w in zip(by_set.closure, precision.tolist(), strict=True)
        )


@st.composite
def cases(draw):
    """A plan, and its bases with other messages: of any size, or such that costs less messages nearly agree."""
    plan = draw(plans_by_set())
    by_set, precision = plan.strategy, 1 / plan.noise_variances
    how = draw(st.sampled_from(["any", "level"]))
    messages = by_set.messages * draw(st.sampled_from(SCALES))
    if how == "level":
        messages = np.concatenate(
            [
                np.array([float(length) for length in lengths_of(by_set.basis(members, i))], dtype=float)
                * w
                * math.prod(float(by_set.basis(members, j).pcost) for j in members if j != i)
                for members, w in zip(by_set.closure, precision.tolist(), strict=True)
                for i in members
                if len(members) > 1 and by_set.basis(members, i).matrix is not None
            ]
            or [np.empty(0)]
        )
    return plan, replace(by_set, messages=messages)


@given(case=cases())
@settings(max_examples=120, deadline=None)
def test_the_exact_cost_is_the_right_side_of_t4_and_no_record_costs_more_whatever_the_messages(case):
    plan, by_set = case
    precision = 1 / plan.noise_variances
    exact = exact_cost(by_set, precision)
    assert exact == right_side(by_set, plan.domain.sizes, precision.tolist())
    worst = max(costs_of_records(by_set, plan.domain.sizes, precision))
    assert worst <= exact
    assert worst <= Fraction(plan.pcost) * (1 + Fraction(1, 10**15))
    information = sum(rows.T @ np.linalg.solve(noise, rows) for rows, noise in base_mechanisms(plan) if len(rows))
    assert float(worst) == pytest.approx(np.diag(information).max(), rel=1e-9)
    nothing = replace(by_set, messages=np.zeros(len(by_set.messages)))
    assert exact_cost(nothing, precision) == sum(
        Fraction(w) * math.prod(by_set.basis(members, i).pcost for i in members)
        for members, w in zip(by_set.closure, precision.tolist(), strict=True)
    )


@given(case=cases(), records=st.integers(1, 5), seed=st.integers(0, 99))
@settings(deadline=None)
def test_the_stated_cost_is_rounded_up_a_little_and_more_noise_never_costs_more(case, records, seed):
    plan, by_set = case
    more = plan.noise_variances * np.random.default_rng(seed).uniform(1, 2, len(plan.noise_variances))
    stated = Fraction(cost_upper_bound(by_set, plan.noise_variances, rp.privacy.Neighbors(records_per_person=records)))
    assert exact_cost(by_set, 1 / more) * records**2 <= stated
    quotients = [1 / Fraction(variance) for variance in plan.noise_variances.tolist()]
    assert right_side(by_set, plan.domain.sizes, quotients) * records**2 <= stated
    exact = exact_cost(by_set, 1 / plan.noise_variances)
    largest = exact_cost(replace(by_set, messages=np.zeros(len(by_set.messages))), 1 / plan.noise_variances)
    assert stated <= (exact + largest * Fraction(1, 2**46)) * records**2 * (1 + Fraction(1, 2**49))


@pytest.mark.parametrize("least", [0, 1, 53, 54, 60, 100])
@pytest.mark.parametrize("most", [1.0, 1 - 2.0**-53, 1 + 2.0**-52, 3.0])
def test_the_stated_cost_is_above_the_exact_one_however_it_rounds(least, most):
    """All columns have length 1, so that the costs of the sets add up: to a little above or below a float."""
    noise = np.array([most, 2.0**least, 2.0 ** (least + 1), 2.0 ** (least + 1)])
    stated = cost_upper_bound(pair([[1, -1]], [[1, -1]], np.zeros(4)), noise, rp.privacy.Neighbors())
    exact = sum(1 / Fraction(variance) for variance in noise.tolist())
    assert exact <= Fraction(stated) <= exact * (1 + Fraction(1, 2**45))


def closure_of(*sizes):
    """All sets of so many attributes."""
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    return Workload(domain, [domain.names]).closure


def pair(first, second, messages):
    closure = closure_of(2, 2)
    bases = (basis_of(2, first), basis_of(2, second))
    return rp.strategies.varying_strategy(closure, [2, 2], bases, [0, 1, 0, 1], np.array(messages, dtype=float))


def test_numbers_that_floats_cannot_tell_apart_are_told_apart():
    """The costs of two cells are 2**100 both, but for a message of 2**-60."""
    precision = np.array([1.0, 2.0**-200, 2.0**-200, 1.0])
    without, told = (pair([[2**50, -(2**50)]], [[0, 1]], [0, message, 0, 0]) for message in (0.0, -(2.0**-60)))
    assert exact_cost(told, precision) - exact_cost(without, precision) == Fraction(1, 2**60)


@pytest.mark.parametrize("w", [5e-324, 2.0**-1070, 1e-300, 1.0, 1e300, 1.7e308])
@pytest.mark.parametrize("message", [5e-324, 1.0, 1.7e308])
def test_numbers_at_the_ends_of_floating_point_are_costed_exactly(w, message):
    by_set = pair([[2**50, -(2**49)]], [[3, 5]], [message, -message, 0.5 * message, message])
    precision = np.full(4, w)
    assert exact_cost(by_set, precision) == right_side(by_set, (2, 2), precision.tolist())


def test_products_below_the_smallest_normal_number_are_costed_exactly():
    """Two thirds of the smallest float would be rounded up by half, and the other cell taken for the largest."""
    closure = closure_of(2, 3)
    bases = (basis_of(2, [[2**50, 0]]), basis_of(3, None))
    messages = np.array([0.0, -(2.0**-1074) * 2**100 * 0.75])
    by_set = rp.strategies.varying_strategy(closure, [2, 3], bases, [0, 1, 0, 1], messages)
    precision = np.array([1.0, 5e-324, 1.0, 5e-324])
    assert exact_cost(by_set, precision) == right_side(by_set, (2, 3), precision.tolist())


def test_a_precision_too_few_is_refused():
    by_set = bases_by_set(Workload(Domain({"a": 3}), [{"a": Prefix()}]), np.random.default_rng(1))
    with pytest.raises(ValueError, match="one precision for each of 2 sets"):
        exact_cost(by_set, np.ones(1))

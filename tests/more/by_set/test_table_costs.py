"""The least weighted sum of variances where the cost is a sum of maxima over tables, and its proof."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from residualplanner.more.by_set.table_costs import (
    CostTable,
    cost_of,
    least_loss,
    minimize_over_tables,
    weights_with_margins,
)

SIZES = (3, 2, 4)


@st.composite
def problems(draw):
    """Tables over up to three axes, all their subsets, with random columns; and sums of the noises of some or all.

    Each table has one noise, or two.
    """
    axes = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    tables = []
    for order in range(axes + 1):
        for chosen in itertools.combinations(range(axes), order):
            tables.append(CostTable(chosen, tuple(rng.uniform(0.2, 1.0, SIZES[i]) for i in chosen)))
    table_of = np.sort(np.concatenate([np.arange(len(tables)), np.arange(draw(st.integers(0, len(tables))))]))
    start = rng.lognormal(size=len(table_of)) / 10
    messages = {
        number: [0.1 * rng.normal(size=SIZES[i]) for i in table.axes]
        for number, table in enumerate(tables)
        if len(table.axes) > 1
    }
    sums = rng.lognormal(size=(draw(st.integers(1, 5)), len(table_of)))
    sums[1:] *= rng.random(sums[1:].shape) < 0.7
    return sums, tables, table_of, start, messages


def rows_of(sums):
    """The largest of some sums, alone, as the program adds rows."""

    def largest(precision):
        values = sums @ (1 / precision)
        return float(values.max()), sums[[values.argmax()]]

    return largest


def cost_by_cells(tables, precision, messages):
    """(41), cell by cell."""
    total, single = 0.0, {}
    for number, table in enumerate(tables):
        if not table.axes:
            total += precision[number]
            continue
        cells = itertools.product(*(range(SIZES[i]) for i in table.axes))
        costs = {
            cell: precision[number] * math.prod(q[r] for q, r in zip(table.columns, cell, strict=True))
            for cell in cells
        }
        if len(table.axes) == 1:
            told = [[costs[r,] for r in range(SIZES[table.axes[0]])]]
        else:
            told = messages[number]
            total += max(cost - sum(phi[r] for phi, r in zip(told, cell, strict=True)) for cell, cost in costs.items())
        for axis, phi in zip(table.axes, told, strict=True):
            single[axis] = single.get(axis, 0.0) + np.array(phi)
    return total + sum(column.max() for column in single.values())


@settings(max_examples=15)
@given(problem=problems())
def test_a_search_that_begins_with_the_cells_of_another_finds_the_same(problem):
    sums, tables, table_of, start, messages = problem
    known = {}
    first = minimize_over_tables(rows_of(sums), tables, table_of, start, messages, known)
    assert sorted(known) == sorted(messages)
    again = minimize_over_tables(rows_of(sums), tables, table_of, start, messages, known, enough=1e-5)
    assert again.bound <= first.loss * (1 + 1e-9)
    assert again.loss <= first.loss * (1 + 1e-5)


@settings(max_examples=25)
@given(problem=problems())
def test_the_choice_has_cost_1_and_a_loss_proved_least(problem):
    sums, tables, table_of, start, messages = problem
    found = minimize_over_tables(rows_of(sums), tables, table_of, start, messages)
    first, least = (np.bincount(table_of, each) for each in (start, found.precision))
    assert cost_by_cells(tables, least, found.messages) == pytest.approx(1, rel=1e-9)
    assert cost_of(tables, first, messages) == pytest.approx(cost_by_cells(tables, first, messages), rel=1e-12)
    assert float((sums @ (1 / found.precision)).max()) == pytest.approx(found.loss, rel=1e-9)
    assert found.bound <= found.loss <= found.bound * (1 + 1e-6)


@settings(max_examples=25)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_no_precision_and_messages_do_better_than_the_bound_of_any_weights(problem, seed):
    sums, tables, table_of, start, messages = problem
    rng, cells = np.random.default_rng(seed), {}
    for number in messages:
        shape = [SIZES[i] for i in tables[number].axes]
        every = np.array(list(itertools.product(*map(range, shape))))
        some = every[rng.random(len(every)) < 0.7]
        cells[number] = some, rng.normal(0.5, 1, len(some))
    axes = {i: rng.normal(0.5, 1, SIZES[i]) for table in tables for i in table.axes}
    bound = least_loss(rng.dirichlet(np.ones(len(sums))) @ sums, tables, table_of, cells, axes)
    loss, cost = float((sums @ (1 / start)).max()), cost_by_cells(tables, np.bincount(table_of, start), messages)
    assert 0 < bound <= loss * cost * (1 + 1e-9)
    assert bound <= minimize_over_tables(rows_of(sums), tables, table_of, start, messages).loss * (1 + 1e-9)


@given(seed=st.integers(0, 10**6))
def test_weights_are_completed_to_the_margins(seed):
    rng = np.random.default_rng(seed)
    margins = [rng.dirichlet(np.ones(n)) for n in SIZES]
    every = np.array(list(itertools.product(*map(range, SIZES))))
    cells = every[rng.random(len(every)) < 0.5]
    kept, missing = weights_with_margins(cells, rng.normal(0.05, 0.05, len(cells)), margins)
    assert (kept >= 0).all()
    table = np.zeros(SIZES)
    table[tuple(cells.T)] = kept
    left = 1 - kept.sum()
    assert [float(part.sum()) for part in missing] == pytest.approx([left] * 3)
    table += np.einsum("i,j,k", *missing) / left**2
    for axis, margin in enumerate(margins):
        others = tuple(other for other in range(3) if other != axis)
        np.testing.assert_allclose(table.sum(axis=others), margin, atol=1e-12)


def test_messages_matter():
    columns = (np.array([1.0, 0.1]), np.array([0.1, 1.0]))
    tables = [CostTable((0,), (columns[0],)), CostTable((1,), (columns[1],)), CostTable((0, 1), columns[::-1])]
    told = {2: [np.zeros(2), np.zeros(2)]}
    found = minimize_over_tables(rows_of(np.ones((1, 3))), tables, np.arange(3), np.full(3, 0.3), told)
    # With messages of 0 the cost would be the sum of the precisions, and the loss (1 + 1 + 1)**2.
    assert found.loss < 6
    assert found.loss <= found.bound * (1 + 1e-7)

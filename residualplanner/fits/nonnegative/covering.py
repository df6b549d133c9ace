"""Records that cover what tables are short of: added to the tables, none of their cells is negative.

Source: eq. (55); docs/mathematics.md section 11, covering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.nonnegative.table_map import squared_norms
from residualplanner.fits.optimizers import Array

#: From how many tables, at most, a record's next value is chosen.
_LOOKS = 4
#: The weight of values that cover nothing.
_LEAST = 1e-12

Integers = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Records:
    """Records, each of which counts by its weight."""

    values: Integers  # (r, d): of each attribute
    weights: Array  # (r,): in counts


def largest_shortage(problem: DualProblem, cells: Array) -> float:
    """What is missing in the table that is short of most, in counts: the sum of its cells below 0."""
    return max(float(np.minimum(stack.per_table(cells), 0).sum(axis=1).min()) * -1 for stack in problem.tables.stacks)


def covering(problem: DualProblem, cells: Array) -> tuple[Array, Array]:
    """The components of records, and their cells, which are positive, and large where ``cells`` (y,) are below 0.

    As much as is missing in the worst table is spread evenly over all values, so that small shortages are covered;
    records cover the others.
    """
    even = max(largest_shortage(problem, cells), 1e-9 * problem.total)
    shortages = np.negative(cells)
    for stack in problem.tables.stacks:
        view = stack.per_table(shortages)
        view -= even / view.shape[1]
    np.maximum(shortages, 0, out=shortages)
    records = records_for(problem, shortages)
    found = np.empty_like(cells)
    for stack in problem.tables.stacks:
        for table, attributes in zip(stack.per_table(found), stack.attributes, strict=True):
            flat = np.ravel_multi_index(tuple(records.values[:, attributes].T), stack.shape[1:])
            table[...] = np.bincount(flat, records.weights, len(table)) + even / len(table)
    found *= problem.total / (even + float(records.weights.sum()))
    # Of subtraction bases, each component follows from every table that has it: the transposed map adds these up.
    tables = problem.tables
    return tables.transposed(found) / tables.layout.spread(squared_norms(tables)), found


def records_for(problem: DualProblem, shortages: Array) -> Records:
    """Records whose tables are nowhere below the shortages (y,), which are overwritten.

    Table by table, those that are short of most first: each cell that is short gives a record, whose other values are
    drawn, one by one, in proportion to what other tables are short of.
    """
    tables = {
        tuple(members): table
        for stack in problem.tables.stacks
        for members, table in zip(stack.attributes.tolist(), shortages[stack.cells].reshape(stack.shape), strict=True)
    }
    sizes, chance = problem.tables.plan.domain.sizes, np.random.default_rng(0)
    found = [Records(np.empty((0, len(sizes)), dtype=np.int32), np.empty(0))]
    for attributes in sorted(tables, key=lambda each: -float(tables[each].sum())):
        short = np.nonzero(tables[attributes])
        weights = tables.pop(attributes)[short]  # and then nothing is missing there
        if not len(weights):
            continue
        values = np.zeros((len(weights), len(sizes)), dtype=np.int32)
        values[:, attributes] = np.stack(short, axis=1)
        _complete(values, weights, list(attributes), tables, sizes, chance)
        for members, table in tables.items():  # which are short of less, down to 0
            flat, left = np.ravel_multi_index(tuple(values[:, members].T), table.shape), table.reshape(-1)
            np.subtract.at(left, flat, weights)
            left[flat] = np.maximum(left[flat], 0)
        found.append(Records(values, weights))
    return Records(np.concatenate([each.values for each in found]), np.concatenate([each.weights for each in found]))


def _complete(
    values: Integers,
    weights: Array,
    known: list[int],
    tables: dict[tuple[int, ...], Array],
    sizes: Sequence[int],
    chance: np.random.Generator,
) -> None:
    """Draw the values that records (r, d) lack, one attribute after another."""
    for attribute in chance.permutation([each for each in range(values.shape[1]) if each not in known]).tolist():
        known.append(attribute)
        looks = [each for each in _within(known, tables) if attribute in each]
        if not looks:  # no table that is still short of any has it together with the others: any value does
            values[:, attribute] = chance.integers(sizes[attribute], size=len(values))
            continue
        if len(looks) > _LOOKS:
            looks = [looks[number] for number in chance.choice(len(looks), _LOOKS, replace=False)]
        scores = np.zeros((1, sizes[attribute]))
        for look in looks:  # what its table is short of, for each value beside the others of each record, (r, n)
            others = tuple(values[:, each] for each in look if each != attribute)
            table = np.moveaxis(tables[look], look.index(attribute), -1)
            scores = scores + np.minimum(table[others] if others else table[None], weights[:, None])
        below = np.cumsum(scores + _LEAST, axis=1)
        values[:, attribute] = (below < chance.random((len(values), 1)) * below[:, -1:]).sum(axis=1)


def _within(known: list[int], tables: dict[tuple[int, ...], Array]) -> Iterator[tuple[int, ...]]:
    """The tables of the last of some attributes with others of them."""
    for order in sorted({len(each) for each in tables}):
        for others in combinations(known[:-1], order - 1):
            members = tuple(sorted((*others, known[-1])))
            if members in tables:
                yield members

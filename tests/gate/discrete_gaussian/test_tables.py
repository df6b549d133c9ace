"""The tables, checked number by number: what makes the sampler exact, for every scale at once."""

from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from sampler_oracles import exp_interval

from inner_parts import envelope

BLOCK_TABLES = range(57, 65)
ENVELOPES = [envelope.envelope(table) for table in range(envelope.TABLES)]


def radius_by_definition(table: int) -> Fraction:
    """A quarter; then nine eighths, ten eighths, .. of each power of two up to 32; then 36, 40, .., 64."""
    ladder = [Fraction(1, 4)]
    ladder += [Fraction(2) ** power * (8 + eighth) / 8 for power in range(-2, 5) for eighth in range(1, 9)]
    ladder += [Fraction(radius) for radius in range(36, 65, 4)]
    return ladder[table]


def nearest(block: int, table: int) -> int:
    """Distance from 0, in blocks, of the block's integer nearest to 0 (its one integer where blocks are single)."""
    return min(abs(block), abs(block + 1)) if table in BLOCK_TABLES else abs(block)


@cache
def bounds_of_heights(table: int) -> list[tuple[Fraction, Fraction]]:
    """Rational bounds of exp(-near**2 / (2 radius**2)) for near = 0, 1, .. up to the tail."""
    radius = radius_by_definition(table)
    return [exp_interval(Fraction(near**2) / (2 * radius**2)) for near in range(ENVELOPES[table].reach + 1)]


def test_the_oracle_brackets_the_exponential():
    with mpmath.workdps(100):
        for x in (Fraction(0), Fraction(1, 2), Fraction(1, 10**9), Fraction(355, 113), Fraction(81), Fraction(648)):
            low, high = exp_interval(x)
            truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
            assert mpmath.mpf(low.numerator) / low.denominator <= truth <= mpmath.mpf(high.numerator) / high.denominator
            assert high - low < Fraction(1, 2**100)


def test_the_tables_are_the_ladder_of_radii():
    tables = range(envelope.TABLES)
    assert [*map(envelope.radius_of_table, tables)] == [*map(radius_by_definition, tables)]


def test_every_weight_is_the_largest_value_of_the_target_on_its_block_rounded_up():
    """18,450 inequalities from below, which exactness needs, and as many from above, which speed needs."""
    checked = 0
    for table, one in enumerate(ENVELOPES):
        heights = bounds_of_heights(table)
        for block in range(-one.reach, one.reach):
            low, high = heights[nearest(block, table)]
            weight = one.weights[block + one.reach]
            assert one.scale * high <= weight < one.scale * low + 1 + Fraction(1, 2**50)
            checked += 1
    assert checked == 18_450


def test_every_tail_weighs_at_least_twice_64_blocks_at_its_beginning():
    for table, one in enumerate(ENVELOPES):
        for weight in one.weights[2 * one.reach : -1]:
            assert weight >= 2 * 64 * one.scale * bounds_of_heights(table)[one.reach][1]


def test_the_target_more_than_halves_from_one_chunk_of_a_tail_to_the_next():
    assert exp_interval(Fraction(7, 10))[1] < Fraction(1, 2)
    for table, one in enumerate(ENVELOPES):
        assert (2 * one.reach * 64 + 64**2) / (2 * radius_by_definition(table) ** 2) >= Fraction(7, 10)


def test_the_arrays_give_every_cell_exactly_its_weight():
    for one in ENVELOPES:
        mass = np.zeros(2 * one.reach + 3, dtype=np.int64)
        threshold = one.bounds - np.arange(2048) * 2**15
        assert threshold.min() >= 0
        assert threshold.max() <= 2**15
        np.add.at(mass, one.cells[0::2], threshold)
        np.add.at(mass, one.cells[1::2], 2**15 - threshold)
        assert tuple(mass.tolist()) == one.weights
        assert sum(one.weights) == 2**26
        assert min(one.weights) >= 0


def test_the_arrays_name_the_block_and_the_ratio_of_their_cell():
    for one in ENVELOPES:
        is_block = one.cells < 2 * one.reach
        assert (one.blocks[is_block] == one.cells[is_block] - one.reach).all()
        assert set(one.cells[is_block].tolist()) == set(range(2 * one.reach))
        cells, first, group = np.unique(one.cells, return_index=True, return_inverse=True)
        np.testing.assert_array_equal(one.ratios, one.ratios[first][group])
        for cell, ratio in zip(cells.tolist(), one.ratios[first].tolist(), strict=True):
            if cell < 2 * one.reach:
                exact = Fraction(2**21 * one.scale, one.weights[cell])
                assert abs(Fraction(ratio) - exact) <= exact / 2**53
            else:
                assert ratio < 0 if cell == 2 * one.reach + 2 else np.isnan(ratio)


def test_a_shelf_holds_its_envelopes_side_by_side():
    several = envelope.shelf((0, 30, 64))
    assert several.index[[0, 30, 64]].tolist() == [0, 1, 2]
    for number, table in enumerate((0, 30, 64)):
        one = ENVELOPES[table]
        np.testing.assert_array_equal(several.bounds[2048 * number : 2048 * (number + 1)], one.bounds)
        np.testing.assert_array_equal(several.blocks[4096 * number : 4096 * (number + 1)], one.blocks)
        np.testing.assert_array_equal(several.ratios[4096 * number : 4096 * (number + 1)], one.ratios)


@pytest.mark.parametrize("weights", [[3, 4], [-1, 9], [1, 2, 5]])
def test_weights_that_do_not_fill_the_columns_are_refused(weights):
    with pytest.raises(ValueError, match="must be at least 0 and sum to 2 x 4"):
        envelope.alias_table(weights, columns=2, capacity=4)

"""Tables in tiles: the same counts, answers and choices as of whole tables, in the memory that is allowed."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.selection import UNITS, CandidateSelection, ExactCounts
from residualplanner.fits.rap.tiles import ThresholdTable, tiles_of
from residualplanner.gate.discrete_gaussian import InsecureTestBits
from residualplanner.gate.sources.opening import open_source

SIZES = (3, 4, 5, 2)
DOMAIN = rp.Domain(dict(zip("abcd", SIZES, strict=True)))
RECORDS = np.random.default_rng(0).integers(0, SIZES, (200, 4))
TABLES = [
    ThresholdTable(positions, tuple(SIZES[i] for i in positions), r)
    for positions in [(), (1,), (0, 2), (1, 2, 3), (0, 1, 2, 3)]
    for r in range(min(1, len(positions)), len(positions) + 1)
]
SMALL = 3_000


def answers_by_definition(table):
    """How many records match each cell in at least r attributes, one cell after another."""
    cells = np.indices(table.shape).reshape(len(table.shape), table.cells).T
    matches = (RECORDS[:, None, list(table.positions)] == cells[None]).sum(axis=2)
    return (matches >= table.at_least).sum(axis=0)


@given(room=st.integers(2_500, 12_000))
def test_tiles_follow_one_another_and_hold_every_cell_once(room):
    tiles = tiles_of(TABLES, relaxed_records=1, room=room)
    for number, table in enumerate(TABLES):
        cells = np.arange(table.cells).reshape(table.shape)
        parts = [tile for tile in tiles if tile.table == number]
        assert [cell for tile in parts for cell in tile.numbers] == cells.ravel().tolist()
        for tile in parts:
            assert list(tile.numbers) == cells[np.ix_(*tile.values)].ravel().tolist()
            assert np.flatnonzero(tile.holds(cells.ravel())).tolist() == list(tile.numbers)


def test_a_tile_is_as_large_as_has_room():
    [table] = [ThresholdTable((0, 1), (100, 50), 2)]
    for relaxed, room in ((10, 200_000), (1, 100_000), (100, 400_000)):
        width = len(tiles_of([table], relaxed_records=relaxed, room=room)[0].values[0])

        def needed(values, relaxed=relaxed):
            return 64 * (values + 1) * 50 + 12 * (values + 1 + 50) * relaxed

        assert needed(width) <= room < needed(width + 1)


def test_less_memory_than_one_cell_needs_and_more_tiles_than_records_should_be_read_for_are_refused():
    with pytest.raises(rp.errors.ResourceError, match="less than one cell"):
        tiles_of(TABLES, relaxed_records=1, room=100)
    most, room = (ThresholdTable((0,), (size,), 1) for size in (100_000, 100_001)), 200  # of one value each
    assert len(tiles_of([next(most)], relaxed_records=1, room=room)) == 100_000
    with pytest.raises(rp.errors.ResourceError, match="more than 100,000 tiles"):
        tiles_of([next(most)], relaxed_records=1, room=room)


@pytest.mark.parametrize("cells", [None, 30], ids=["kept", "counted anew"])
def test_counts_of_tiles_are_those_of_the_definition(cells):
    tiles = tiles_of(TABLES, relaxed_records=1, room=SMALL)
    assert len(tiles) > 2 * len(TABLES)
    found = list(ExactCounts(open_source(RECORDS, DOMAIN), tiles, cells).answers(tiles))
    for number, table in enumerate(TABLES):
        parts = [each for tile, each in zip(tiles, found, strict=True) if tile.table == number]
        assert np.concatenate(parts).tolist() == answers_by_definition(table).tolist()


@pytest.mark.parametrize("is_distribution", [True, False])
def test_answers_of_relaxed_records_are_the_same_in_tiles(is_distribution):
    blocks = OneHot(SIZES)
    values = np.random.default_rng(1).random((blocks.count, 30)).astype(np.float32)
    records = rp.fits.rap.RelaxedRecords(blocks, blocks.softmax(values) if is_distribution else values)
    for tile in tiles_of(TABLES, relaxed_records=30, room=16_000):
        whole = records.fractions(tile.threshold).ravel()
        assert np.allclose(records.of_tile(tile), whole[tile.numbers.start : tile.numbers.stop], rtol=0, atol=1e-6)


@pytest.mark.parametrize("unit", ["cell", "table"])
def test_the_same_candidates_are_drawn_whatever_the_tiles_are(unit):
    drawn = []
    for room in (SMALL, 10**6):
        counts = ExactCounts(open_source(RECORDS, DOMAIN), tiles_of(TABLES, relaxed_records=1, room=room))
        selection, bits = CandidateSelection(counts, UNITS[unit], [set() for _ in TABLES]), InsecureTestBits(3)
        model = lambda tile: np.zeros(len(tile.numbers), np.int64)  # noqa: E731
        drawn.append([selection.choose(model, Fraction(1, 50), 4, bits) for _ in range(2)])
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("changes", [{}, {"unit": "table", "choices": 1}, {"rounds": 1, "choices": None}])
@pytest.mark.parametrize("sizes", [SIZES, (12, 10, 15, 2)], ids=["counts are kept", "counted anew"])
def test_a_run_in_tiles_is_the_run_with_whole_tables(changes, sizes):
    domain = rp.Domain(dict(zip("abcd", sizes, strict=True)))
    workload = rp.Workload(domain, [("a", "b", "c"), rp.Threshold(("b", "c", "d"), 2)])
    settings = rp.fits.rap.ProjectionSettings(relaxed_records=2, steps=20)
    given = {"rounds": 2, "choices": 3, "neighbors": "replace", "projection": settings} | changes
    plan = rp.fits.rap.RapPlan(workload, budget=rp.zcdp(2), **given)
    assert len(tiles_of(plan.thresholds, relaxed_records=2, room=SMALL)) > 6
    assert (8 * sum(each.cells for each in plan.thresholds) > SMALL) == (sizes != SIZES)
    whole, tiled = (rp.fits.rap.rap(plan, RECORDS, seed=4, memory=memory) for memory in (2**30, 2 * SMALL))
    for one, other in zip(whole.rounds, tiled.rounds, strict=True):
        assert one.chosen == other.chosen
        for table, answers in one.answers.items():
            assert answers.tolist() == other.answers[table].tolist()
            assert one.cells[table].tolist() == other.cells[table].tolist()
    assert np.allclose(whole.records.values, tiled.records.values, atol=1e-5)


def test_a_table_larger_than_the_memory_takes_no_more_than_it():
    domain = rp.Domain({"a": 60, "b": 70, "c": 80})
    records = np.random.default_rng(3).integers(0, domain.sizes, (500, 3))
    settings = rp.fits.rap.ProjectionSettings(relaxed_records=20, steps=2)
    memory = 2**21
    for r in (3, 2):
        workload = rp.Workload(domain, [rp.Threshold(("a", "b", "c"), r)])
        plan = rp.fits.rap.RapPlan(
            workload, budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=2, projection=settings
        )
        assert 8 * plan.thresholds[0].cells > memory
        rp.fits.rap.rap(plan, records, seed=1)  # what is made once in a process
        tracemalloc.start()
        rp.fits.rap.rap(plan, records, seed=1, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < memory

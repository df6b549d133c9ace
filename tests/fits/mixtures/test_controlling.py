"""Exchanges of values change the loss as they promise, and lower it."""

from itertools import combinations

import numpy as np
import pytest

from residualplanner.fits.mixtures import controlling
from residualplanner.fits.mixtures.controlling import (
    _exchange,
    _pairs_within,
    _tables_of,
    controlled_records,
    tables_beside,
)
from residualplanner.fits.mixtures.mixture import OneHot, mixture_of
from residualplanner.fits.mixtures.records import correct_margins

SIZES = (3, 2, 4)


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    probabilities = np.concatenate([rng.dirichlet(np.ones(size), 3).T for size in SIZES])
    return mixture_of(OneHot(SIZES), np.array([0.5, 0.3, 0.2]), probabilities)


@pytest.fixture
def codes():
    return np.random.default_rng(1).integers(0, SIZES, (60, 3))


def loss_of_pairs(mixture, codes, attribute):
    """The squared differences of the tables of an attribute with each other, weighted, cell by cell."""
    found = 0.0
    for pair in combinations(range(3), 2):
        if attribute in pair:
            expected = len(codes) * mixture.table(pair)
            for cell in np.ndindex(expected.shape):
                count = sum(tuple(record) == cell for record in codes[:, pair].tolist())
                found += (count - expected[cell]) ** 2 / np.sqrt(expected[cell] + 0.5)
    return found


@pytest.mark.parametrize("attribute", [0, 1, 2])
def test_exchanges_change_the_loss_and_the_counts_as_they_promise(mixture, codes, attribute):
    tables, rows = _tables_of(mixture, attribute, len(codes)), codes + mixture.blocks.offsets[:-1]
    away, before = tables.away(rows), loss_of_pairs(mixture, codes, attribute)
    assert tables.loss(away) == pytest.approx(before, rel=1e-5)
    one, other = np.arange(8), np.arange(8, 16)
    promised, moved = tables.changes(away, rows, one, other), tables.moved(rows, one, other)
    for number in range(8):
        if codes[number, attribute] != codes[number + 8, attribute]:
            changed = codes.copy()
            changed[[number, number + 8], attribute] = codes[[number + 8, number], attribute]
            after = loss_of_pairs(mixture, changed, attribute)
            assert promised[number] == pytest.approx(after - before, rel=1e-3, abs=1e-3)
    rows[one, attribute], rows[other, attribute] = rows[other, attribute], rows[one, attribute]
    beside = tables.weights > 0
    np.testing.assert_allclose((away + moved)[beside], tables.away(rows)[beside], atol=1e-4)


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_exchanges_never_raise_the_loss_of_their_attribute_and_keep_its_values_in_their_class(mixture, codes, share):
    rng, classes = np.random.default_rng(2), np.repeat([0, 1, 2], [21, 20, 19])
    rows, shares = codes + mixture.blocks.offsets[:-1], np.full(3, share)
    for attribute in (0, 1, 2) * 5:
        tables, old = _tables_of(mixture, attribute, 60), rows.copy()
        before = tables.loss(tables.away(rows))
        _exchange(tables, rows, _pairs_within(classes, rng), shares, rng)
        assert tables.loss(tables.away(rows)) <= before
        for number in range(3):
            assert (np.sort(rows[classes == number], axis=0) == np.sort(old[classes == number], axis=0)).all()
    assert (rows != codes + mixture.blocks.offsets[:-1]).any()


def test_values_are_corrected_only_within_what_their_class_has_and_as_few_as_it_takes():
    """Class 0 has the values 0 and 1, class 1 has 2 alone: nobody there can give or get one."""
    mixture = mixture_of(OneHot((3,)), np.array([0.5, 0.5]), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]))
    codes, classes = np.array([0, 0, 0, 1, 2, 2, 2, 2])[:, None], np.repeat([0, 1], 4)
    old = codes.copy()
    correct_margins(mixture, codes, classes, np.random.default_rng(0))
    assert np.bincount(codes[:, 0]).tolist() == [2, 2, 4]
    assert (codes != old).sum() == 1
    codes = np.array([0, 0, 1, 1, 2, 2, 2, 2, 2])[:, None]  # one record too many of class 1
    correct_margins(mixture, codes, np.repeat([0, 1], [4, 5]), np.random.default_rng(0))
    assert codes[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2]


def test_tables_beside_one_attribute_are_those_of_the_mixture_cell_by_cell(mixture, codes):
    rows = codes + mixture.blocks.offsets[:-1]
    for attribute, beside in tables_beside(mixture, len(codes)).items():
        columns = beside.columns(rows)
        for place, (one, other) in enumerate(beside.pairs.tolist()):
            table = len(codes) * mixture.table((attribute, one, other))
            for record, column in zip(codes, columns[:, place], strict=True):
                expected = beside.expected[:, column]
                np.testing.assert_allclose(expected, table[:, record[one], record[other]], rtol=1e-6)


def test_tables_of_three_attributes_are_nearer_where_they_are_controlled(mixture):
    away = [0.0, 0.0]
    for seed in range(5):
        for place, order in enumerate((2, 3)):
            made = controlled_records(mixture, 400, np.random.default_rng(seed), order=order)
            cells = np.ravel_multi_index(made.T, SIZES)
            counts = np.bincount(cells, minlength=24).reshape(SIZES)
            away[place] += np.abs(counts - 400 * mixture.table((0, 1, 2))).sum()
            for attribute, size in enumerate(SIZES):
                alone = np.bincount(made[:, attribute], minlength=size)
                assert np.abs(alone - 400 * mixture.table((attribute,))).max() < 1
    assert away[1] < 0.8 * away[0]


def test_tables_of_three_attributes_that_are_too_large_are_left_alone(monkeypatch, mixture):
    monkeypatch.setattr(controlling, "_ALL_CELLS", 23)
    assert tables_beside(mixture, 60) == {}
    monkeypatch.setattr(controlling, "_ALL_CELLS", 24)
    assert sorted(tables_beside(mixture, 60)) == [0, 1, 2]
    monkeypatch.setattr(controlling, "_LOOKED_UP", 59)
    assert tables_beside(mixture, 60) == {}

"""Answers to r-of-k thresholds are what counting matches record by record says."""

import itertools
import math

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from residualplanner.more.queries.thresholds import (
    threshold_count,
    threshold_distance,
    threshold_factor,
    threshold_map,
    threshold_probability,
)


@st.composite
def thresholds(draw, *, least=1, orders=4):
    sizes = draw(st.lists(st.integers(least, 4), min_size=1, max_size=orders))
    return tuple(sizes), draw(st.integers(1, len(sizes)))


def matrix(sizes, at_least):
    return dense.threshold(sizes, tuple(range(len(sizes))), at_least)


def integers(*shape):
    return np.random.default_rng(math.prod(shape)).integers(0, 9, shape)


@pytest.mark.parametrize("xp", [np, array_api_strict], ids=lambda xp: xp.__name__)
@given(threshold=thresholds())
def test_the_map_counts_the_records_that_match_often_enough(xp, threshold):
    sizes, at_least = threshold
    table = integers(*sizes)
    found = threshold_map(xp.asarray(table), at_least)
    assert type(found) is type(xp.asarray(table))
    np.testing.assert_array_equal(np.asarray(found).ravel(), matrix(sizes, at_least) @ table.ravel())


def test_tables_of_a_stack_and_other_axes_are_mapped_each_for_itself():
    stack = integers(2, 3, 5, 4)
    found = threshold_map(stack, 1, axes=(1, 3))
    for first, other in itertools.product(range(2), range(5)):
        np.testing.assert_array_equal(found[first, :, other], threshold_map(stack[first, :, other], 1))


@given(threshold=thresholds(), seed=st.integers(0, 9))
def test_the_tail_is_the_sum_over_all_outcomes(threshold, seed):
    sizes, at_least = threshold
    p = np.random.default_rng(seed).random((len(sizes), 3))
    expected = sum(
        np.prod([q if hit else 1 - q for q, hit in zip(p, outcome, strict=True)], axis=0)
        for outcome in itertools.product([False, True], repeat=len(sizes))
        if sum(outcome) >= at_least
    )
    np.testing.assert_allclose(threshold_probability(list(p), at_least), expected, rtol=1e-13)


@given(threshold=thresholds(least=2), data=st.data())
def test_two_records_differ_in_as_many_cells_as_counting_says(threshold, data):
    sizes, at_least = threshold
    agreeing = data.draw(st.sets(st.sampled_from(range(len(sizes)))))
    answers = matrix(sizes, at_least).reshape(-1, *sizes)
    first, other = np.zeros(len(sizes), dtype=int), np.array([int(i not in agreeing) for i in range(len(sizes))])
    expected = np.abs(answers[(..., *first)] - answers[(..., *other)]).sum()
    assert threshold_distance(sizes, at_least, agreeing=tuple(agreeing)) == expected


@given(threshold=thresholds())
def test_a_residual_is_an_eigenvector_of_the_map_and_every_record_counts_as_often_as_counting_says(threshold):
    sizes, at_least = threshold
    columns = matrix(sizes, at_least).sum(axis=0)
    np.testing.assert_array_equal(columns, threshold_count(sizes, at_least))
    answers, whole = matrix(sizes, at_least), tuple(range(len(sizes)))
    for part in dense.subsets(whole):
        vectors = dense.residual(sizes, part)
        np.testing.assert_array_equal(vectors @ answers, threshold_factor(sizes, part, at_least) * vectors)


@pytest.mark.parametrize("at_least", [0, 3, -1, True, 1.5])
def test_a_threshold_that_no_record_or_every_record_meets_is_refused(at_least):
    message = f"from 1 to 2, the number of the threshold's attributes, got {at_least}"
    for function, first in (
        (threshold_map, np.ones((2, 2))),
        (threshold_probability, [0.5, 0.5]),
        (threshold_count, (2, 2)),
        (threshold_distance, (2, 2)),
    ):
        with pytest.raises(rp.errors.WorkloadError, match=message):
            function(first, at_least)

"""A matrix of one's own is taken as it is, and refused where the total cannot be made of its rows."""

import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import residualplanner as rp
from residualplanner import Attribute, Custom

STATES = Attribute("state", labels=["CA", "OR", "TX", "WA"])


@pytest.mark.parametrize("make", [list, np.array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_matrices_may_be_given_in_every_way_and_are_copied(make):
    matrix = [[1, 1, 1, 1], [0, -2, 0, 0.5]]
    given = make(matrix)
    kind = Custom(given)
    if make is not list:
        stored = given if make is np.array else given.data
        stored[:] = 7
    np.testing.assert_array_equal(kind.matrix(4), matrix)
    assert kind == Custom(matrix)
    assert hash(kind) == hash(Custom(matrix))
    with pytest.raises(ValueError, match="read-only"):
        kind.weights.data[0] = 7


def test_labels_are_those_given_or_numbers_and_the_words_are_short():
    assert Custom([[1, 1], [0, 1]], labels=["all", "second"]).labels(Attribute("a", 2)) == ("all", "second")
    assert Custom([[1, 1], [0, 1]]).labels(Attribute("a", 2)) == ("row 1", "row 2")
    assert Custom([[1, 1]], labels=["x"]) != Custom([[1, 1]], labels=["y"])
    assert repr(Custom(np.eye(1000))) == "Custom(1000 rows of 1000 values)"
    assert repr(Custom([[1]])) == "Custom(1 row of 1 value)"


@st.composite
def row_spaces(draw):
    """A matrix of integers (q, n), and whether ones are a combination of its rows, by ranks of exact fractions."""
    size = draw(st.integers(2, 5))
    row = st.lists(st.integers(-2, 2), min_size=size, max_size=size).filter(any)
    rows = draw(st.lists(row, min_size=1, max_size=size + 1))
    return rows, rank(rows) == rank([*rows, [1] * size]), all(len(set(row)) == 1 for row in rows)


def rank(rows: list[list[int]]) -> int:
    """The rank, by elimination in integers."""
    left, found = [list(row) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left = [[a * pivot[column] - b * row[column] for a, b in zip(row, pivot, strict=True)] for row in left]
        found += 1
    return found


@given(case=row_spaces())
def test_a_matrix_fits_just_where_ones_are_a_combination_of_its_rows_and_not_all_of_them(case):
    rows, gives_total, is_total = case
    attribute = Attribute("a", len(rows[0]))
    if gives_total and not is_total:
        Custom(rows).require_fit(attribute)
        return
    with pytest.raises(rp.errors.WorkloadError, match="'a'") as told:
        Custom(rows).require_fit(attribute)
    assert ("but the total" in str(told.value)) == is_total


@given(st.floats(1e-12, 1e12), st.floats(1e-12, 1e12))
def test_the_scale_of_rows_does_not_decide_whether_a_matrix_fits(first, second):
    Custom([[first, 0], [0, second]]).require_fit(Attribute("a", 2))
    with pytest.raises(rp.errors.WorkloadError, match="no combination"):
        Custom([[first, 0, 0], [0, second, 2 * second]]).require_fit(Attribute("a", 3))


TOTAL_ONLY, NO_NUMBERS = "the matrix gives nothing but the total of 'state'", "a custom query needs a matrix of numbers"


@pytest.mark.parametrize(
    ("attribute", "matrix", "message"),
    [
        (
            STATES,
            np.eye(3, 4),
            "every value of 'state' the weight 1: the closest one gives 'WA' the weight 0; add rows",
        ),
        (STATES, [[1, 1, 0, 0], [0, 0, 1, 3]], "gives 'TX' the weight 0.4; add rows that hold the rest, or"),
        (STATES, [[1, 1, 1, 1]], f"{TOTAL_ONLY}; leave it out of the query"),
        (STATES, [[1, 1, 1, 1], [0.1 + 0.2, 0.3, 0.3, 0.3]], TOTAL_ONLY),
        (STATES, [[1, 1, 1]], "the matrix for 'state' must have a column for each of its 4 values, it has 3"),
    ],
)
def test_a_matrix_that_does_not_fit_says_why(attribute, matrix, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Custom(matrix).require_fit(attribute)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2], [1]], "rows are of different lengths"),
        ([1, 2], "a row for each answer and a column for each value, got int64 of shape \\(2,\\)"),
        *((np.ones(shape), f"got float64 of shape \\({str(shape)[1:-1]}\\)") for shape in ((1, 1, 1), (0, 3))),
        *((bad, NO_NUMBERS) for bad in ([["1", "2"]], [[1, None]], [[1j, 1]], sparse.csr_array([[1j, 1]]), None)),
        *(([[1, bad]], "must be finite in every entry") for bad in (np.nan, -np.inf)),
        ([[1, 1], [0, 0]], "row 2 of the matrix of a custom query is all zeros; leave it out"),
        ([[1, 1], [0, 1e16]], r"row 2 of the matrix of a custom query has 1e\+16 for its largest entry"),
        ([[1, 1], [0, 1e-16]], r"row 2 .* has 1e-16 for its largest entry; it must be between 1e-15 and 1e\+15: scale"),
        ([[1, 1], [1, 1e15 + 1]], r"row 2 .* has 1000000000000001\.0 for its largest entry; .* 1e\+15: scale the row"),
        (np.ones((1025, 1024)), "1,049,600 entries other than 0, the limit is 1,048,576"),
    ],
)
def test_something_else_than_a_matrix_of_numbers_is_refused(matrix, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Custom(matrix)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        *(
            (labels, "must be a list of 2 strings, one for each row")
            for labels in ("ab", ["a"], ["a", "b", "c"], ["a", 1], ["a", ""], ["a", "\ud800"], 5, [None, "a"])
        ),
        (["a", "a"], "labels of a custom query must differ from one another"),
    ],
)
def test_labels_that_are_no_different_texts_are_refused(labels, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Custom([[1, 1], [0, 1]], labels=labels)


def test_a_matrix_is_not_applied_to_another_number_of_values():
    for ask in (Custom([[1, 1]]).gram, Custom([[1, 1]]).rows, Custom([[1, 1]]).matrix):
        with pytest.raises(rp.errors.WorkloadError, match="the matrix has 2 columns, but the attribute has 3 values"):
            ask(3)


MANY, CLOSEST = 10_000, "the closest one gives"
X = np.linspace(0.1, 0.9, MANY)
BAND = sparse.diags_array([1.0, 1.0, 1.0], offsets=[0, 1, 2], shape=(MANY, MANY))


def blocks(block):
    return sparse.kron(sparse.eye_array(MANY // len(block[0])), block)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([X, 1 - X, X**2]), ""),
        (np.array([X, 1 - X**2, X**3]), CLOSEST),
        (sparse.diags_array(1 + X), ""),
        (blocks([[1, 1, 0, 0], [0, 0, 1, 1]]), ""),
        (blocks([[1, 1, 0, 0], [0, 1, 1, 1]]), CLOSEST),
        (BAND, "too large to check whether .*; add a row of ones"),
        (sparse.vstack([BAND, np.ones((1, MANY))]), ""),
    ],
)
def test_whether_rows_of_ten_thousand_values_give_the_total_is_found_or_left_open_without_large_matrices(
    matrix, message
):
    kind = Custom(sparse.csr_array(matrix))
    tracemalloc.start()
    with pytest.raises(rp.errors.WorkloadError, match=message) if message else nullcontext():
        kind.require_fit(Attribute("a", MANY))
    assert tracemalloc.get_traced_memory()[1] < 2**26  # a matrix of 10,000 x 10,000 takes twelve times as much
    tracemalloc.stop()

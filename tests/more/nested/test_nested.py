"""A nested basis says what the matrix says that it stands for, and nothing of size n x n is needed for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from inner_parts import integer_products
from random_plans import basis_of
from residualplanner import Attribute, Custom, Hierarchy, Identity, Prefix
from residualplanner.gate.measurement.double_word import products_modulo
from residualplanner.more.nested.axis_maps import NestedLayer
from residualplanner.more.nested.nested import nested_basis, nested_basis_of_array
from residualplanner.testing.bases import require_basis


@st.composite
def nested(draw, entries=9):
    """Random layers whose blocks have a large diagonal, so that they are independent; values in random order."""
    layers, members = [], 1
    for _ in range(draw(st.integers(1, 3))):
        children = draw(st.lists(st.integers(1, 4), min_size=members, max_size=members))
        if sum(children) == members:
            children[0] = 2
        blocks = []
        for count in children:
            block = np.array(
                draw(st.lists(st.integers(-1, 1), min_size=count * (count - 1), max_size=count * (count - 1)))
            )
            block = block.reshape(count - 1, count) if count > 1 else np.empty((0, 1))
            blocks.append((block + np.eye(count - 1, count) * entries).ravel())
        layers.append(NestedLayer(np.array(children), np.concatenate(blocks).astype(np.int64)))
        members = sum(children)
    if draw(st.booleans()):
        children = draw(st.lists(st.integers(1, 3), min_size=members, max_size=members))
        children[0] = 2
        layers.append(NestedLayer(np.array(children), np.empty(0, dtype=np.int64)))
        members = sum(children)
    return nested_basis(layers, np.array(draw(st.permutations(range(members)))), "given")


@given(basis=nested())
def test_a_nested_basis_has_the_numbers_of_its_matrix(basis):
    again, matrix = nested_basis_of_array(basis.stored, "given"), basis.matrix
    assert again.key == basis.key
    assert (again.matrix == matrix).all()
    columns = [tuple(column) for column in matrix.T.tolist()]
    assert basis.value_groups.tolist() == [list(dict.fromkeys(columns)).index(column) for column in columns]
    assert (require_basis(basis) == matrix).all()
    if basis.answers:
        assert basis_of(basis.size, matrix).value_groups.tolist() == basis.value_groups.tolist()


@given(basis=nested(), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_variance_factors_are_those_of_explicit_matrices(basis, seed):
    draw = np.random.default_rng(seed)
    inverse = np.linalg.pinv(np.vstack([np.ones(basis.size), basis.matrix]))
    rows = np.vstack([np.ones(basis.size), draw.integers(-2, 3, (2, basis.matrix.shape[0])) @ basis.matrix])
    rows = rows[np.abs(rows).sum(axis=1) > 0]
    kind = Custom(rows)
    W = kind.matrix(basis.size)
    present, absent = basis.row_variance_factors(kind)
    assert np.allclose(present, ((W @ inverse[:, 1:]) ** 2).sum(axis=1), atol=1e-9)
    assert np.allclose(absent, (W @ inverse[:, 0]) ** 2)
    assert np.allclose(basis.mean_variance_factors(kind), (present.mean(), absent.mean()))
    outside, inside = basis.cell_covariances(kind)
    assert np.allclose(inside, W @ inverse[:, 1:] @ inverse[:, 1:].T @ W.T)
    assert np.allclose(outside, np.outer(W @ inverse[:, 0], W @ inverse[:, 0]))
    weights = draw.normal(size=(2, basis.size, 3))
    assert np.allclose(basis.present_parts(weights, 1), np.einsum("bnc,nm->bmc", weights, inverse[:, 1:]))


@given(basis=nested(), seed=st.integers(0, 99))
def test_it_answers_what_its_matrix_spans(basis, seed):
    inverse = np.linalg.pinv(np.vstack([np.ones(basis.size), basis.matrix]))
    draw = np.random.default_rng(seed)
    inside = draw.normal(size=(2, basis.answers)) @ basis.matrix
    assert basis.spans_rows(inside)
    projection = inverse @ np.vstack([np.ones(basis.size), basis.matrix])
    for kind in (Identity(), Prefix(), Hierarchy([2]).on(Attribute("a", basis.size))):
        W = kind.matrix(basis.size)
        assert basis.spans(kind) == basis.spans_rows(W) == np.allclose(W @ projection, W, atol=1e-6)


@given(basis=nested(entries=2**20), seed=st.integers(0, 99), wide=st.booleans())
def test_answers_are_exact_whatever_their_size(basis, seed, wide):
    counts = np.random.default_rng(seed).integers(0, 2**41 if wide else 99, (2, basis.size, 3))
    total = int(counts.sum())
    (own,), exact = basis.integer_maps, basis.matrix.astype(object) @ counts.astype(object)
    found = integer_products(counts, {1: own}, total=total)
    assert (found == exact).all()
    assert (integer_products(counts.astype(object) << 70, {1: own}, total=total << 70) == exact << 70).all()
    low, near = products_modulo(counts, {1: own}, total=total)
    assert ((exact - low) % 2**64 == 0).all()
    assert np.allclose(near, exact.astype(float), rtol=1e-12)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([], "begin with"),
        ([2, 99], "begin with"),
        ([2, 1, 1, 2], "too early"),
        ([2, 1, 1, 2, 2, 1, 1, 0, 1], "independent"),
        ([2, 1, 1, 2, 2, 1, 2**60, 0, 1], "2..50"),
        ([2, 1, 1, 2, 2, 1, -(2**63), 0, 1], "2..50"),
        ([2, 1, 1, 2, 2, 1, -1, 0, 0], "every value once"),
        ([2, 1, 1, 2, 3, 1, -1, 1, 0, 1], "group for each member"),
        ([2, 1, 1, 2**40, 2, 1, -1, 0, 1], "order of its values"),
        ([3, 2, 1, 2, 0, 2, 1, 2, 2, 1, -1, 0, 1, 2], "group for each member"),
    ],
)
def test_arrays_that_are_no_basis_are_refused(numbers, words):
    with pytest.raises(rp.errors.WorkloadError, match=words):
        nested_basis_of_array(np.array(numbers, dtype=np.int64), "given")


def test_a_basis_of_many_values_is_small_and_its_matrix_refused():
    size = 2**15
    halves = [NestedLayer(np.full(2**k, 2), np.tile([3, -3], 2**k)) for k in range(15)]
    basis = nested_basis(halves, np.arange(size), "given")
    present, absent = basis.row_variance_factors(Identity())
    assert len(basis.stored) < 6 * size
    assert basis.pcost == 15 * 9
    assert np.allclose(absent, size**-2.0)
    assert np.allclose(present, sum((2.0 ** (k - 14) / 6) ** 2 for k in range(15)))
    with pytest.raises(rp.errors.WorkloadError, match="32,767 x 32,768"):
        _ = basis.matrix
    assert basis_of(2, [[3, -3]]).integer_maps[0].largest == 3

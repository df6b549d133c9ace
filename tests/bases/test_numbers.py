"""The numbers of the subtraction basis are those of its explicit matrices."""

import numpy as np
import pytest

import dense
from residualplanner.bases import subtraction_basis, subtraction_numbers
from residualplanner.queries import Identity

SIZES = (1, 2, 3, 5, 12)


def test_cost_and_variance_numbers_are_those_of_one_attribute_alone():
    numbers = subtraction_numbers(SIZES)
    assert numbers.present.shape == numbers.absent.shape == (len(SIZES), 1)
    for i, size in enumerate(SIZES):
        present = dense.covariance_share((size,), (0,), (0,))
        absent = dense.covariance_share((size,), (0,), ())
        cost = dense.cost_coefficients((size,), [(0,)])[0]
        assert numbers.pcost[i] == pytest.approx(cost, abs=1e-15)
        np.testing.assert_allclose(np.diag(present), numbers.present[i, 0], atol=1e-15)
        np.testing.assert_allclose(np.diag(absent), numbers.absent[i, 0], atol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_cell_covariances_are_those_of_the_residual_answers(size):
    absent, present = subtraction_basis(size).cell_covariances(Identity())
    inverse, noise = dense.subtraction_inverse(size), dense.residual_covariance((size,), (0,))
    np.testing.assert_allclose(present, inverse @ noise @ inverse.T, atol=1e-14)
    mean = dense.reconstruction((size,), (0,), ())
    np.testing.assert_allclose(absent, mean @ mean.T, atol=1e-15)


def test_the_numbers_cannot_be_changed():
    numbers = subtraction_numbers(SIZES)
    for array in (numbers.pcost, numbers.present, numbers.absent):
        assert not array.flags.writeable


def test_the_largest_sizes_there_are_stay_positive_and_finite():
    numbers = subtraction_numbers([2**62])
    assert 0 < numbers.absent[0, 0] < 1e-30
    assert 0 < numbers.pcost[0] <= 1

"""The identity query asks for one count per value."""

import dataclasses

import numpy as np
import pytest

from residualplanner.domain import Attribute, Bins
from residualplanner.queries import Identity


@pytest.mark.parametrize("size", [1, 2, 7])
def test_its_matrix_has_a_row_for_each_value(size):
    kind = Identity()
    np.testing.assert_array_equal(kind.matrix(size), [[float(i == j) for j in range(size)] for i in range(size)])
    np.testing.assert_array_equal(kind.gram(size), kind.matrix(size).T @ kind.matrix(size))
    assert kind.rows(size) == len(kind.matrix(size))


@pytest.mark.parametrize(
    ("attribute", "labels"),
    [
        (Attribute("a", 3), (0, 1, 2)),
        (Attribute("a", labels=["x", "y"]), ("x", "y")),
        (Attribute("a", bins=Bins([0, 10, 20], labels=["low", "high"])), ("low", "high")),
    ],
)
def test_its_labels_are_the_values(attribute, labels):
    assert Identity().labels(attribute) == labels


def test_all_identities_are_equal_and_cannot_be_changed():
    assert Identity() == Identity()
    assert len({Identity(), Identity()}) == 1
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
        Identity().extra = 1

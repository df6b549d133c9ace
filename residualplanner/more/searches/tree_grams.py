"""The kinds of query of an attribute whose groups form a tree with many nodes: problems of the size of its branches.

In which form the kinds of an attribute are given to the search stands here as well.

Source: eqs. (115) to (117).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.workload.workload import Workload
from residualplanner.more.nested.axis_maps import NestedLayer
from residualplanner.more.searches import merged_grams
from residualplanner.more.searches.attribute_grams import AttributeGrams, plain_grams
from residualplanner.more.searches.eigen import zero_sum_basis
from residualplanner.more.searches.tree import Tree, tree_of_rows
from residualplanner.more.searches.tree_problem import TreeProblem, node_forms

#: Attributes of at most so many values have matrices: these are as quick, and Newton steps bring them closer.
MERGED_ABOVE = 96
#: Up to so many groups the problem is solved for all of them together: for sums of variances, and for the maximum.
_MOST_FOR_SUM, _MOST_FOR_MAXIMUM = 400, 2048
#: The most members of a branch of a tree.
_MOST_MEMBERS = 256


def grams_for_sum(workload: Workload, size: int, codes: tuple[int, ...], most: int = _MOST_FOR_SUM) -> AttributeGrams:
    """The kinds (numbers in the workload) of an attribute, for weighted sums of variances.

    Raises WorkloadError: as `plain_grams`, where the rows are not those of one hierarchy.
    """
    forms = _merged_forms(workload, size, codes, most)
    return plain_grams(workload, size, codes) if forms is None else forms


def grams_for_maximum(workload: Workload, size: int, codes: tuple[int, ...]) -> AttributeGrams:
    """The same for the largest variance."""
    return grams_for_sum(workload, size, codes, _MOST_FOR_MAXIMUM)


def matrix_rows(workload: Workload, size: int, codes: tuple[int, ...]) -> int:
    """How many rows the matrices of `grams_for_sum` have: a row for each group or value; 0 for a tree, without any."""
    forms = _merged_forms(workload, size, codes, _MOST_FOR_SUM)
    return size if forms is None else max(0, forms.grams.shape[1] - 1)


def _merged_forms(workload: Workload, size: int, codes: tuple[int, ...], most: int) -> AttributeGrams | None:
    """The kinds where values are merged or groups form a tree; None where each value has a row of a matrix."""
    if size <= MERGED_ABOVE:
        return None
    own = [workload.kinds[code] for code in codes]
    group = merged_grams.exchangeable_groups(own, size)
    count = int(group.max()) + 1
    if count <= most and count < size:
        return merged_grams.merged_grams(own, codes, group)
    rows = [merged_grams.merged_rows(kind, group) for kind in own] if count < size else []
    tree = tree_of_rows(rows, _MOST_MEMBERS) if rows else None
    if tree is None:
        return None
    width, grams, reach = np.bincount(group).astype(np.float64), np.empty((0, 0, 0)), np.empty((0, 0))
    return TreeGrams(size, codes, tuple(own), group, width, grams, reach, tuple(rows), tree)


@dataclass(frozen=True, eq=False)
class TreeGrams(merged_grams.MergedGrams):
    """The kinds of an attribute as weights of the nodes of a tree; there are no Gram matrices."""

    tree: Tree

    @property
    def directions(self) -> Any:
        """None are kept apart: what queries do not depend on is measured next to not at all."""
        return None

    def tangent(self, weights: FloatArray) -> Any:
        """As of `AttributeGrams`, for nodes."""
        present, absent = np.split(weights, 2)
        by_node = present @ self.tree.weights, absent @ self.tree.weights
        return TreeProblem(self.tree, *by_node, float(absent @ self._constants), self._contrasts(present))

    def factors(self, found: Any) -> tuple[FloatArray, FloatArray]:
        """As of `AttributeGrams`."""
        present, absent = [], []
        measured = found.scales > 0
        for weights, inside, constant in zip(self.tree.weights, self.inside, self._constants, strict=True):
            nodes, forms = node_forms(self.tree, weights, found.proportions)
            trace = sum(float((form * each).sum()) for form, each in zip(forms, found.added, strict=True))
            present.append(trace + float((self.freedom * inside)[measured] @ (1 / found.scales[measured])))
            absent.append(float(nodes[0]) + constant)
        return np.array(present), np.array(absent)

    def _layers(self, found: Any) -> list[NestedLayer]:
        """The layers of branches from the first node down to groups, then those of the contrasts of each group."""
        matrices = {
            node: matrix
            for equal, proportions, added in zip(self.tree.branches, found.proportions, found.added, strict=True)
            for node, matrix in zip(equal.roots.tolist(), _matrices(proportions, added), strict=True)
        }
        nodes, layers = [0], []
        while any(node in matrices for node in nodes):
            entries = np.concatenate([matrices[node].ravel() for node in nodes if node in matrices])
            members = [self._members.get(node, [node]) for node in nodes]
            layers.append(NestedLayer(np.array(list(map(len, members))), entries))
            nodes = [member for own in members for member in own]
        groups = self._groups
        return [*layers, *merged_grams.layers_of_contrasts(self.width[groups].astype(np.int64), found.scales[groups])]

    @property
    def _order(self) -> IntArray:
        rank = np.argsort(self._groups)
        return np.argsort(rank[self.group], kind="stable")

    @cached_property
    def _members(self) -> dict[int, list[int]]:
        """The members of each node that is the root of a branch."""
        return {
            node: members
            for equal in self.tree.branches
            for node, members in zip(equal.roots.tolist(), equal.members.tolist(), strict=True)
        }

    @cached_property
    def _groups(self) -> IntArray:
        """The groups in the order in which the last branches have them, (g,)."""
        nodes = [0]
        while any(node in self._members for node in nodes):
            nodes = [member for node in nodes for member in self._members.get(node, [node])]
        number = np.full(len(self.tree.parent), -1, dtype=np.int64)
        number[self.tree.group] = np.arange(len(self.tree.group))
        return number[nodes]

    @cached_property
    def _constants(self) -> FloatArray:
        """The mean square of the constant parts of each kind's rows, (kinds,)."""
        return np.array([float((rows.constant**2).mean()) for rows in self.merged])


def _matrices(proportions: FloatArray, added: FloatArray) -> FloatArray:
    """The matrices S (b, k-1, k) of branches with these proportions (b, k) and ``Z X Z^T`` (b, k, k)."""
    Z = zero_sum_basis(proportions.shape[1])
    values, vectors = np.linalg.eigh(Z.T @ added @ Z)
    apart = Z.T - (proportions @ Z)[:, :, None]
    return np.asarray((vectors / np.sqrt(values)[:, None, :]).swapaxes(1, 2) @ apart)

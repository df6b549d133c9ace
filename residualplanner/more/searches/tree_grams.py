"""The kinds of query of an attribute whose groups form a tree with many nodes: problems of the size of its branches.

Source: eqs. (115) to (117).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.kind import Kind
from residualplanner.more.nested.nested_layers import RealLayer, layers_of_contrasts
from residualplanner.more.searches.contrasts import Contrasts
from residualplanner.more.searches.exchangeable import MergedRows
from residualplanner.more.searches.merged_grams import MergedGrams
from residualplanner.more.searches.optimal import zero_sum_basis
from residualplanner.more.searches.tree import Tree
from residualplanner.more.searches.tree_problem import NodeWeights, TreeBasis, TreeProblem

#: Steps of each search: they end earlier where one gains little.
_STEPS = 12


@dataclass(frozen=True, eq=False, slots=True)
class TreeTangent:
    """The objective of `Tangent` for a tree.

    Attributes:
        tree: the nodes.
        width (g,): how many values each group has.
        weights: of the nodes.
    """

    tree: Tree
    width: FloatArray
    weights: NodeWeights

    def best(self, directions: object, **how: Any) -> TreeBasis:
        """The best nested basis, from ``start`` if there is one."""
        del directions
        return self._solved(TreeProblem(self.tree, self.weights, fixed=False), **how)

    def best_orthogonal(self, even: FloatArray, directions: object, **how: Any) -> TreeBasis:
        """The best nested basis orthogonal to the total for the present part."""
        del even, directions
        present = self.weights._replace(absent=np.zeros_like(self.weights.absent), constant=0.0)
        return self._solved(TreeProblem(self.tree, present, fixed=True), **how)

    def at(self, u: FloatArray) -> float:
        """The part that depends on u (g,) only."""
        sums = self.tree.below @ u
        return float(self.weights.absent @ (sums * sums)) + self.weights.constant

    def _solved(self, problem: TreeProblem, **how: Any) -> TreeBasis:
        start: TreeBasis | None = how.get("start")
        if start is not None:
            return problem.solve(list(start.proportions), start.multipliers, how.get("gap", 0.0), _STEPS)
        values = self.tree.below @ self.width
        proportions = [values[equal.members] / values[equal.roots, None] for equal in self.tree.branches]
        scale = problem.trace(self.width) / float(self.width.sum())
        return problem.solve(proportions, self.width * scale**2, how.get("gap", 0.0), _STEPS)


@dataclass(frozen=True, eq=False)
class TreeGrams(MergedGrams):
    """The kinds of an attribute as weights of the nodes of a tree; there are no Gram matrices.

    Attributes:
        tree: the nodes and branches; the other members are those of `MergedGrams`.
    """

    tree: Tree

    @classmethod
    def of(
        cls,
        own: Sequence[Kind],
        codes: tuple[int, ...],
        group: IntArray,
        rows: Sequence[MergedRows],
        tree: Tree,
    ) -> "TreeGrams":
        """From kinds with their numbers in a workload, groups (n,) of values that can be exchanged, rows over these."""
        none, width = np.empty((0, 0, 0)), np.bincount(group).astype(np.float64)
        return cls(len(group), codes, group, width, none, none[0:0].reshape(0, 0), tuple(rows), tuple(own), tree)

    @property
    def directions(self) -> Any:
        """None are kept apart: what queries do not depend on is measured next to not at all."""
        return None

    def tangent(self, weights: FloatArray) -> Any:
        """The objective for ``weights`` (2 kinds,): of each kind's t, then of each kind's s."""
        present, absent = np.split(weights, 2)
        contrasts = Contrasts(self.width, self.freedom, present @ self.inside)
        constant = float(absent @ self._constants)
        return TreeTangent(
            self.tree,
            self.width,
            NodeWeights(present @ self.tree.weights, absent @ self.tree.weights, constant, contrasts),
        )

    def factors(self, found: Any) -> tuple[FloatArray, FloatArray]:
        """The variance factors t and s of each kind, (kinds,) both, with p = 1."""
        present, absent = [], []
        measured = found.scales > 0
        for weights, inside, constant in zip(self.tree.weights, self.inside, self._constants, strict=True):
            contrasts = Contrasts(self.width, self.freedom, inside)
            problem = TreeProblem(self.tree, NodeWeights(weights, weights, 0.0, contrasts), fixed=True)
            forms = problem.forms(weights, list(found.proportions))
            trace = sum(float((form * each).sum()) for form, each in zip(forms.branches, found.added, strict=True))
            present.append(trace + float((self.freedom * inside)[measured] @ (1 / found.scales[measured])))
            absent.append(float(forms.nodes[0]) + constant)
        return np.array(present), np.array(absent)

    def _layers(self, found: Any) -> list[RealLayer]:
        """The layers of branches from the first node down to groups, then those of the contrasts of each group."""
        of_node = {
            node: (number, rank)
            for number, equal in enumerate(self.tree.branches)
            for rank, node in enumerate(equal.roots.tolist())
        }
        matrices = [
            _matrices(proportions, added) for proportions, added in zip(found.proportions, found.added, strict=True)
        ]
        nodes, layers = [0], []
        while any(node in of_node for node in nodes):
            finer: list[int] = []
            children, entries = [], []
            for node in nodes:
                number, rank = of_node.get(node, (-1, -1))
                members = self.tree.branches[number].members[rank].tolist() if number >= 0 else [node]
                finer += members
                children.append(len(members))
                if number >= 0:
                    entries.append(matrices[number][rank].ravel())
            layers.append((np.array(children), np.concatenate(entries)))
            nodes = finer
        groups = self._groups
        return [*layers, *layers_of_contrasts(self.width[groups].astype(np.int64), found.scales[groups])]

    @property
    def _order(self) -> IntArray:
        rank = np.argsort(self._groups)
        return np.argsort(rank[self.group], kind="stable")

    @cached_property
    def _groups(self) -> IntArray:
        """The groups in the order in which the last branches have them, (g,)."""
        of_node = {
            node: members
            for equal in self.tree.branches
            for node, members in zip(equal.roots.tolist(), equal.members.tolist(), strict=True)
        }
        nodes = [0]
        while any(node in of_node for node in nodes):
            nodes = [member for node in nodes for member in of_node.get(node, [node])]
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
    matrices: FloatArray = (vectors / np.sqrt(values)[:, None, :]).swapaxes(1, 2) @ apart
    return matrices

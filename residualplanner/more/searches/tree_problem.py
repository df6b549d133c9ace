"""The best nested basis of a hierarchy: a small problem for each branch, tied together by the lengths of columns.

Source: eqs. (115) to (117).

The noise of a branch's root, and the total where the attribute is absent, are divided among its members in proportions
u; the branch adds noise of covariance ``Z X Z^T``.  Multipliers of the columns' lengths are common to all branches, and
are updated as in docs/mathematics.md section 5.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.searches.contrasts import Contrasts
from residualplanner.more.searches.optimal import zero_sum_basis
from residualplanner.more.searches.tree import Tree

#: Eigenvalues of a branch's form below this fraction of their mean are raised.
_LEAST = 1e-12
#: The search ends after a step that gains less than this fraction, both in the objective and in the bound.
_PROGRESS = 3e-6
#: Of the multiplicative update: at first; after a step that did not raise the bound, and after one that did.
_EXPONENT, _DAMPING, _RECOVERY = 1.8, 0.7, 1.1
_TINY = 1e-300
#: Eigenvalues below this fraction of the largest may be rounding, and do not raise the bound.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, slots=True)
class TreeBasis:
    """A nested basis in real numbers.

    Attributes:
        proportions: for each size how the sums of the roots are divided among the members, (b, k).
        added: for each size of branches ``Z X Z^T``, the covariance of what each branch adds to these, (b, k, k).
        scales (g,): of the contrasts, see `ResidualBasis`.
        multipliers (g,): of the lengths of the groups' columns.
        gap: the objective is within this fraction of the least possible.
        bound: no basis, nested or not, has a smaller objective than this.
    """

    proportions: tuple[FloatArray, ...]
    added: tuple[NDArray[np.float64], ...]
    scales: FloatArray
    multipliers: FloatArray
    gap: float
    bound: float


class NodeWeights(NamedTuple):
    """The weights of nodes (nodes,) where the attribute is present and where it is absent, and what is added to both.

    Attributes:
        present, absent: they.
        constant: added to the objective.
        contrasts: of the groups.
    """

    present: FloatArray
    absent: FloatArray
    constant: float
    contrasts: Contrasts


class _Step(NamedTuple):
    """What one step finds.

    Attributes:
        proportions, added: for each size of branches.
        lengths (g,): the squared lengths of columns.
        scales (g,): of the contrasts.
    """

    proportions: list[FloatArray]
    added: list[NDArray[np.float64]]
    lengths: FloatArray
    scales: FloatArray


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The problem for given weights.

    Attributes:
        tree: the nodes and branches.
        weights: of the nodes.
        fixed: whether proportions are kept as they are.
    """

    tree: Tree
    weights: NodeWeights
    fixed: bool

    def solve(self, proportions: list[FloatArray], multipliers: FloatArray, gap: float, steps: int) -> TreeBasis:
        """Update multipliers, proportions and covariances in turn until the bound is close enough."""
        best, bound, exponent = None, -math.inf, _EXPONENT
        for _ in range(max(steps, 1)):
            found = self._step(proportions, multipliers)
            objective = self.objective(found.proportions, found.added, found.scales, found.lengths)
            before, bound = bound, max(bound, self.bound(multipliers, found.proportions))
            gained = bound - before + (best[0] - min(objective, best[0]) if best else math.inf)
            if best is None or objective < best[0]:
                best = objective, found, multipliers
            if best[0] - bound <= gap * best[0] or gained <= _PROGRESS * best[0]:
                break
            exponent = min(exponent * _RECOVERY, _EXPONENT) if bound > before else exponent * _DAMPING
            multipliers = multipliers * np.clip(found.lengths, 1e-3, 1e3) ** exponent
            proportions = found.proportions
        assert best is not None
        objective, found, multipliers = best
        longest = float(found.lengths.max())
        added = tuple(covariance * longest for covariance in found.added)
        gap = (objective - bound) / objective
        return TreeBasis(tuple(found.proportions), added, found.scales / longest, multipliers, gap, bound)

    def objective(
        self, proportions: list[FloatArray], added: list[NDArray[np.float64]], scales: FloatArray, lengths: FloatArray
    ) -> float:
        """``p t + s`` of a nested basis whose columns have these squared ``lengths`` (g,)."""
        present, absent = (self.forms(weights, proportions) for weights in (self.weights.present, self.weights.absent))
        trace = sum(float((form * covariance).sum()) for form, covariance in zip(present.branches, added, strict=True))
        contrasts = self.weights.contrasts
        trace += float(np.divide(contrasts.freedom * contrasts.weight, scales, where=scales > 0, out=scales * 0).sum())
        return float(lengths.max()) * trace + float(absent.nodes[0]) + self.weights.constant

    def forms(self, weights: FloatArray, proportions: list[FloatArray]) -> "_Forms":
        """The forms of all branches, where what is below a member is divided by them.  Source: eq. (115)."""
        nodes, forms = weights.copy(), []
        for equal, proportion in zip(reversed(self.tree.branches), reversed(proportions), strict=True):
            form = equal.forms(nodes)
            nodes[equal.roots] += np.einsum("bi,bij,bj->b", proportion, form, proportion)
            forms.append(form)
        return _Forms(nodes, forms[::-1])

    def bound(self, multipliers: FloatArray, proportions: list[FloatArray]) -> float:
        """What no basis is below.  Source: eqs. (116) and (117)."""
        weights, trace = self.weights, self.trace(multipliers)
        absent = float(self.forms(weights.absent, proportions).nodes[0]) if self.fixed else self._least_absent()
        return trace * trace / float(multipliers.sum()) + absent + weights.constant

    def trace(self, multipliers: FloatArray) -> float:
        """What the trace of the root of M is at least, whatever u is.  Source: eq. (116)."""
        tree, weights = self.tree, self.weights
        below = np.maximum(tree.below @ multipliers, _TINY)
        inside = _subtree_sums(tree, weights.present * below * below) / (below * below)
        trace = weights.contrasts.trace(multipliers)
        for equal in tree.branches:
            roots = np.sqrt(below[equal.members])
            nodes = weights.present.copy()
            nodes[equal.members] = inside[equal.members]
            form = equal.forms(nodes) * roots[:, :, None] * roots[:, None, :]
            image = np.einsum("bij,bj->bi", form, roots)
            if equal.roots[0] == 0:
                total = float(below[0])
                form += float(roots[0] @ image[0]) / total**2 * np.outer(roots[0], roots[0])
                form -= (np.outer(roots[0], image[0]) + np.outer(image[0], roots[0])) / total
            else:
                along = np.maximum(np.einsum("bi,bi->b", roots, image), _TINY)
                form -= image[:, :, None] * image[:, None, :] / along[:, None, None]
            values = np.linalg.eigvalsh(form)[:, 1:]  # the first is 0, but for rounding
            trace += float(np.sqrt(np.where(values > _ROUNDING * values[:, -1:], values, 0.0)).sum())
        return trace

    def _least_absent(self) -> float:
        """The least ``u^T V_s u`` of all u of sum 1, as of resistors in series and side by side."""
        flow = np.zeros(len(self.tree.parent))
        least = self.weights.absent.copy()
        for node in range(len(flow) - 1, 0, -1):
            least[node] += 1 / flow[node] if 0 < flow[node] < math.inf else 0.0
            flow[self.tree.parent[node]] += 1 / least[node] if least[node] > 0 else math.inf
        return float(least[0]) + (1 / float(flow[0]) if 0 < flow[0] < math.inf else 0.0)

    def _step(self, proportions: list[FloatArray], multipliers: FloatArray) -> _Step:
        """The best covariance of each branch for these multipliers and proportions, then the best proportions."""
        tree, weights = self.tree, self.weights
        present, absent = (self.forms(part, proportions).branches for part in (weights.present, weights.absent))
        below = tree.below @ multipliers
        noise, mass, lengths = np.zeros(len(below)), np.ones(len(below)), np.zeros(len(below))
        moved, added = [], []
        for number, equal in enumerate(tree.branches):
            roots, members, proportion = equal.roots, equal.members, proportions[number]
            own = below[members]
            covariance, inverse = _best_covariance(present[number], own, proportion)
            if not self.fixed:
                above = noise[roots, None, None], mass[roots, None, None] ** 2
                proportion = _best_proportions(inverse, above[0] * present[number] + above[1] * absent[number], own)
            apart = np.eye(members.shape[1]) - proportion[:, :, None]
            lengths[members] = lengths[roots, None] + np.einsum("bij,bij->bj", apart, inverse @ apart)
            noise[members] = proportion * proportion * noise[roots, None] + np.diagonal(covariance, axis1=1, axis2=2)
            mass[members] = proportion * mass[roots, None]
            moved.append(proportion)
            added.append(covariance)
        scales = weights.contrasts.scales(multipliers)
        return _Step(moved, added, lengths[tree.group] + weights.contrasts.lengths(scales), scales)


class _Forms(NamedTuple):
    """Attributes: nodes (nodes,): the value at each node, with its descendants; branches: the forms (b, k, k)."""

    nodes: FloatArray
    branches: list[NDArray[np.float64]]


def _subtree_sums(tree: Tree, values: FloatArray) -> FloatArray:
    sums = values.copy()
    for first, last in _levels(tree):
        np.add.at(sums, tree.parent[first:last], sums[first:last])
    return sums


def _levels(tree: Tree) -> Iterator[tuple[int, int]]:
    """The levels of nodes, the deepest first, without the first node."""
    depth = np.zeros(len(tree.parent), dtype=np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    ends = np.searchsorted(depth, np.arange(depth[-1] + 2))
    yield from zip(ends[1:-1][::-1].tolist(), ends[2:][::-1].tolist(), strict=True)


def _best_covariance(
    form: NDArray[np.float64], multipliers: FloatArray, proportion: FloatArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``Z X Z^T`` (b, k, k) for the best X of each branch, and ``Z X^{-1} Z^T``.  From the dual problem."""
    Z = zero_sum_basis(form.shape[1])
    values, vectors = np.linalg.eigh(Z.T @ form @ Z)
    least = _LEAST * np.maximum(values.mean(axis=1, keepdims=True), _TINY)
    roots = np.sqrt(np.maximum(values, least))[:, None, :]
    turned = vectors.swapaxes(1, 2)
    half = (vectors * roots) @ turned
    atoms = half @ (Z.T - (proportion @ Z)[:, :, None])
    moment = (atoms * multipliers[:, None, :]) @ atoms.swapaxes(1, 2)
    squares, frame = np.linalg.eigh(moment)
    size = np.maximum(squares, squares[:, -1:] * 1e-15)[:, None, :] ** 0.25
    outer = Z @ (vectors / roots) @ (turned @ (frame * size))
    inner = Z @ half @ (frame / size)
    return outer @ outer.swapaxes(1, 2), inner @ inner.swapaxes(1, 2)


def _best_proportions(inverse: NDArray[np.float64], form: NDArray[np.float64], multipliers: FloatArray) -> FloatArray:
    """For each branch the u of sum 1 with the least ``sum l_j (e_j - u)^T inverse (e_j - u) + u^T form u``."""
    k = form.shape[1]
    Z, even = zero_sum_basis(k), np.full(k, 1 / k)
    quadratic = multipliers.sum(axis=1)[:, None, None] * inverse + form
    right = (inverse @ multipliers[:, :, None])[:, :, 0] - quadratic @ even
    step = np.linalg.solve(Z.T @ quadratic @ Z, (right @ Z)[:, :, None])[:, :, 0]
    proportions: FloatArray = even + step @ Z.T
    return proportions

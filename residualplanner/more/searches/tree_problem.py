"""The best nested basis of a hierarchy: a small problem for each branch, tied together by the lengths of columns.

Source: eqs. (115) to (117).

The noise of a branch's root, and the total where the attribute is absent, are divided among its members in proportions
u; the branch adds noise of covariance ``Z X Z^T``.  Multipliers of the columns' lengths are common to all branches, and
are updated as in docs/mathematics.md section 5.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.searches.basis_problem import Contrasts
from residualplanner.more.searches.eigen import zero_sum_basis
from residualplanner.more.searches.tree import Tree

#: Eigenvalues of a branch's form below this fraction of their mean are raised.
_LEAST = 1e-12
#: The exponent of the multiplicative update; what it is multiplied by after a step that did not raise the bound, as
#: where two values take turns, and after one that did.
_EXPONENT, _DAMPING, _RECOVERY = 1.8, 0.7, 1.1
#: The search ends after so many steps, or one that gains less than this fraction, both in the objective and in the
#: bound.
_STEPS, _PROGRESS = 12, 3e-6
_TINY = 1e-300
#: Eigenvalues below this fraction of the largest may be rounding, and do not raise the bound.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, slots=True)
class TreeBasis:
    """A nested basis in real numbers."""

    proportions: tuple[FloatArray, ...]  # (b, k) for each size: how the sums of the roots are divided among the members
    added: tuple[NDArray[np.float64], ...]  # (b, k, k) for each size: Z X Z^T, the covariance of what a branch adds
    scales: FloatArray  # (g,): of the contrasts, see `ResidualBasis`
    multipliers: FloatArray  # (g,): of the lengths of the groups' columns
    gap: float  # the objective is within this fraction of the least possible
    bound: float  # no basis, nested or not, has a smaller objective


class _Step(NamedTuple):
    proportions: list[FloatArray]  # for each size of branches
    added: list[NDArray[np.float64]]  # likewise
    lengths: FloatArray  # (g,): the squared lengths of columns
    scales: FloatArray  # (g,): of the contrasts


def node_forms(
    tree: Tree, weights: FloatArray, proportions: Sequence[FloatArray]
) -> tuple[FloatArray, list[NDArray[np.float64]]]:
    """The value at each node (nodes,), with its descendants, and the forms (b, k, k) of branches of each size.

    What is below a member is divided by the proportions.  Source: eq. (115).
    """
    nodes, forms = weights.copy(), []
    for equal, proportion in zip(reversed(tree.branches), reversed(proportions), strict=True):
        form = equal.forms(nodes)
        nodes[equal.roots] += np.einsum("bi,bij,bj->b", proportion, form, proportion)
        forms.append(form)
    return nodes, forms[::-1]


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The problem for given weights: what `Tangent` is where there are matrices."""

    tree: Tree
    present: FloatArray  # (nodes,): the weights of nodes where the attribute is present
    absent: FloatArray  # (nodes,): and where it is absent
    constant: float  # added to the objective
    contrasts: Contrasts  # of the groups
    is_fixed: bool = False  # whether proportions are kept as they are

    def best(
        self, directions: object = None, *, start: TreeBasis | None = None, gap: float = 0.0, **how: Any
    ) -> TreeBasis:
        """The best nested basis, from ``start`` if there is one; `optimal_residuals` has the other arguments."""
        del directions, how
        if start is not None:
            return self._solved(list(start.proportions), start.multipliers, gap)
        width = self.contrasts.width
        values = self.tree.below @ width
        proportions = [values[equal.members] / values[equal.roots, None] for equal in self.tree.branches]
        scale = self.trace(width) / float(width.sum())
        return self._solved(proportions, width * scale**2, gap)

    def best_orthogonal(self, even: FloatArray, directions: object, **how: Any) -> TreeBasis:
        """The best nested basis orthogonal to the total for the present part."""
        del even
        alone = replace(self, absent=np.zeros_like(self.absent), constant=0.0, is_fixed=True)
        return alone.best(directions, **how)

    def at(self, u: FloatArray) -> float:
        """The part that depends on u (g,) only."""
        sums = self.tree.below @ u
        return float(self.absent @ (sums * sums)) + self.constant

    def _solved(self, proportions: list[FloatArray], multipliers: FloatArray, gap: float) -> TreeBasis:
        """Update multipliers, proportions and covariances in turn until the bound is close enough."""
        best, bound, exponent = None, -math.inf, _EXPONENT
        for _ in range(_STEPS):
            found = self._step(proportions, multipliers)
            objective = self._objective(found)
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

    def _objective(self, found: _Step) -> float:
        """``p t + s`` of a nested basis."""
        scales = found.scales
        _, present = node_forms(self.tree, self.present, found.proportions)
        absent, _ = node_forms(self.tree, self.absent, found.proportions)
        trace = sum(float((form * added).sum()) for form, added in zip(present, found.added, strict=True))
        inside = self.contrasts.freedom * self.contrasts.weight
        trace += float(np.divide(inside, scales, where=scales > 0, out=scales * 0).sum())
        return float(found.lengths.max()) * trace + float(absent[0]) + self.constant

    def bound(self, multipliers: FloatArray, proportions: list[FloatArray]) -> float:
        """What no basis is below.  Source: eqs. (116) and (117)."""
        trace = self.trace(multipliers)
        if self.is_fixed:
            nodes, _ = node_forms(self.tree, self.absent, proportions)
            absent = float(nodes[0])
        else:
            absent = self._least_absent()
        return trace * trace / float(multipliers.sum()) + absent + self.constant

    def trace(self, multipliers: FloatArray) -> float:
        """What the trace of the root of M is at least, whatever u is.  Source: eq. (116)."""
        tree = self.tree
        below = np.maximum(tree.below @ multipliers, _TINY)
        inside = _subtree_sums(tree, self.present * below * below) / (below * below)
        trace = self.contrasts.trace(multipliers)
        for equal in tree.branches:
            roots = np.sqrt(below[equal.members])
            nodes = self.present.copy()
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
        least = self.absent.copy()
        for node in range(len(flow) - 1, 0, -1):
            least[node] += 1 / flow[node] if 0 < flow[node] < math.inf else 0.0
            flow[self.tree.parent[node]] += 1 / least[node] if least[node] > 0 else math.inf
        return float(least[0]) + (1 / float(flow[0]) if 0 < flow[0] < math.inf else 0.0)

    def _step(self, proportions: list[FloatArray], multipliers: FloatArray) -> _Step:
        """The best covariance of each branch for these multipliers and proportions, then the best proportions."""
        tree = self.tree
        present, absent = (node_forms(tree, part, proportions)[1] for part in (self.present, self.absent))
        below = tree.below @ multipliers
        noise, mass, lengths = np.zeros(len(below)), np.ones(len(below)), np.zeros(len(below))
        moved, added = [], []
        for number, equal in enumerate(tree.branches):
            roots, members, proportion = equal.roots, equal.members, proportions[number]
            own = below[members]
            covariance, inverse = _best_covariance(present[number], own, proportion)
            if not self.is_fixed:
                above = noise[roots, None, None], mass[roots, None, None] ** 2
                proportion = _best_proportions(inverse, above[0] * present[number] + above[1] * absent[number], own)
            apart = np.eye(members.shape[1]) - proportion[:, :, None]
            lengths[members] = lengths[roots, None] + np.einsum("bij,bij->bj", apart, inverse @ apart)
            noise[members] = proportion * proportion * noise[roots, None] + np.diagonal(covariance, axis1=1, axis2=2)
            mass[members] = proportion * mass[roots, None]
            moved.append(proportion)
            added.append(covariance)
        scales = self.contrasts.scales(multipliers)
        return _Step(moved, added, lengths[tree.group] + self.contrasts.lengths(scales), scales)


def _subtree_sums(tree: Tree, values: FloatArray) -> FloatArray:
    depth = np.zeros(len(tree.parent), dtype=np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    ends = np.searchsorted(depth, np.arange(depth[-1] + 2)).tolist()
    sums = values.copy()
    for first, last in zip(ends[-2:0:-1], ends[:1:-1], strict=True):  # level after level, the deepest first
        np.add.at(sums, tree.parent[first:last], sums[first:last])
    return sums


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
    return even + step @ Z.T

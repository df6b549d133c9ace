"""The best nested basis of a hierarchy: a small problem for each block, tied together by the lengths of columns.

Reads: blocks, weights of nodes.  Gives: TreeBasis, and a bound for all bases, nested or not.
Source: spec section 18, eqs. (115) to (117).

The noise of a block's root, and the total where the attribute is absent, are divided among its members by shares u;
the block adds noise of covariance ``Z X Z^T``.  Multipliers of the columns' lengths are common to all blocks, and are
updated as in spec section 5.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.bases import Contrasts
from residualplanner.bases.optimal import zero_sum_basis
from residualplanner.optimize.bases.tree_blocks import Block, TreeBlocks

#: Eigenvalues of a block's form below this fraction of their mean are raised.
_LEAST = 1e-12
#: Of the multiplicative update: at first and at most; after a step that did not raise the bound, and after one that did.
_EXPONENT, _DAMPING, _RECOVERY = 1.8, 0.7, 1.1
_TINY = 1e-300


@dataclass(frozen=True, eq=False, slots=True)
class TreeBasis:
    """A nested basis in real numbers.

    Attributes:
        shares: for each block how the sum of its root is divided among its members, (k,).
        added: for each block ``Z X Z^T``, the covariance of what it adds to these, (k, k).
        scales (g,): of the contrasts, see `ResidualBasis`.
        multipliers (g,): of the lengths of the groups' columns.
        gap: the objective is within this fraction of the least possible.
        bound: no basis, nested or not, has a smaller objective than this.
    """

    shares: tuple[FloatArray, ...]
    added: tuple[NDArray[np.float64], ...]
    scales: FloatArray
    multipliers: FloatArray
    gap: float
    bound: float


class Weights(NamedTuple):
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
        shares, added: of each block.
        lengths (g,): the squared lengths of columns.
        scales (g,): of the contrasts.
    """

    shares: list[FloatArray]
    added: list[NDArray[np.float64]]
    lengths: FloatArray
    scales: FloatArray


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The problem for given weights.

    Attributes:
        tree: the nodes and blocks.
        weights: of the nodes.
        fixed: whether shares are kept as they are.
    """

    tree: TreeBlocks
    weights: Weights
    fixed: bool

    def solve(self, shares: list[FloatArray], multipliers: FloatArray, gap: float, steps: int) -> TreeBasis:
        """Update multipliers, shares and covariances in turn until the bound is close enough."""
        best, bound, exponent = None, -math.inf, _EXPONENT
        for _ in range(max(steps, 1)):
            found = self._step(shares, multipliers)
            objective = self.objective(found.shares, found.added, found.scales, found.lengths)
            before, bound = bound, max(bound, self.bound(multipliers, found.shares))
            if best is None or objective < best[0]:
                best = objective, found, multipliers
            if best[0] - bound <= gap * best[0]:
                break
            exponent = min(exponent * _RECOVERY, _EXPONENT) if bound > before else exponent * _DAMPING
            multipliers = multipliers * np.clip(found.lengths, 1e-3, 1e3) ** exponent
            shares = found.shares
        assert best is not None
        objective, found, multipliers = best
        longest = float(found.lengths.max())
        added = tuple(covariance * longest for covariance in found.added)
        gap = (objective - bound) / objective
        return TreeBasis(tuple(found.shares), added, found.scales / longest, multipliers, gap, bound)

    def objective(
        self, shares: list[FloatArray], added: list[NDArray[np.float64]], scales: FloatArray, lengths: FloatArray
    ) -> float:
        """``p t + s`` of a nested basis whose columns have these squared ``lengths`` (g,)."""
        present, absent = (self.forms(weights, shares) for weights in (self.weights.present, self.weights.absent))
        trace = sum(float((form * covariance).sum()) for form, covariance in zip(present.blocks, added, strict=True))
        contrasts = self.weights.contrasts
        trace += float(np.divide(contrasts.freedom * contrasts.weight, scales, where=scales > 0, out=scales * 0).sum())
        return float(lengths.max()) * trace + float(absent.nodes[0]) + self.weights.constant

    def forms(self, weights: FloatArray, shares: list[FloatArray]) -> "_Forms":
        """For each block the form of its members' sums, with what lies below them divided by shares.  Eq. (115)."""
        nodes, blocks = weights.copy(), []
        for block, share in zip(reversed(self.tree.blocks), reversed(shares), strict=True):
            form = _form(block, nodes)
            nodes[block.root] += share @ form @ share
            blocks.append(form)
        return _Forms(nodes, blocks[::-1])

    def bound(self, multipliers: FloatArray, shares: list[FloatArray]) -> float:
        """What no basis is below.  Source: spec eqs. (116) and (117)."""
        tree, weights = self.tree, self.weights
        below = tree.below @ multipliers
        squares = _subtree_sums(tree, weights.present * below * below)
        trace = weights.contrasts.trace(multipliers)
        for block in tree.blocks:
            own = below[block.members]
            form = (block.sums.T * weights.present[block.inner]) @ block.sums
            form[np.diag_indices_from(form)] += squares[block.members] / np.maximum(own * own, _TINY)
            roots = np.sqrt(own)
            form *= np.outer(roots, roots)
            image = form @ roots
            if block.root == 0:
                unit = roots / math.sqrt(float(own.sum()))
                half = image / math.sqrt(float(own.sum()))
                form += float(unit @ half) * np.outer(unit, unit) - np.outer(unit, half) - np.outer(half, unit)
            else:
                form -= np.outer(image, image) / max(float(roots @ image), _TINY)
            trace += float(np.sqrt(np.maximum(np.linalg.eigvalsh(form), 0.0)).sum())
        absent = float(self.forms(weights.absent, shares).nodes[0]) if self.fixed else self._least_absent()
        return trace * trace / float(multipliers.sum()) + absent + weights.constant

    def _least_absent(self) -> float:
        """The least ``u^T V_s u`` of all u of sum 1, as of resistors in series and side by side."""
        flow = np.zeros(len(self.tree.parent))
        least = self.weights.absent.copy()
        for node in range(len(flow) - 1, 0, -1):
            least[node] += 1 / flow[node] if 0 < flow[node] < math.inf else 0.0
            flow[self.tree.parent[node]] += 1 / least[node] if least[node] > 0 else math.inf
        return float(least[0]) + (1 / float(flow[0]) if 0 < flow[0] < math.inf else 0.0)

    def _step(self, shares: list[FloatArray], multipliers: FloatArray) -> _Step:
        """The best covariance of each block for the multipliers and the present shares, then the best shares."""
        tree, weights = self.tree, self.weights
        present, absent = (self.forms(part, shares).blocks for part in (weights.present, weights.absent))
        below = tree.below @ multipliers
        noise, mass, lengths = np.zeros(len(below)), np.ones(len(below)), np.zeros(len(below))
        moved, added = [], []
        for number, block in enumerate(tree.blocks):
            root, members = block.root, block.members
            own = below[members]
            covariance, inverse = _best_covariance(present[number], own, shares[number])
            share = shares[number]
            if not self.fixed:
                form = noise[root] * present[number] + mass[root] ** 2 * absent[number]
                share = _best_shares(inverse, form, own)
            apart = np.eye(len(members)) - share[:, None]
            lengths[members] = lengths[root] + np.einsum("ij,ij->j", apart, inverse @ apart)
            noise[members] = share * share * noise[root] + np.diagonal(covariance)
            mass[members] = share * mass[root]
            moved.append(share)
            added.append(covariance)
        scales = weights.contrasts.scales(multipliers)
        return _Step(moved, added, lengths[tree.group] + weights.contrasts.lengths(scales), scales)


class _Forms(NamedTuple):
    """Attributes: nodes (nodes,): the value at each node, those of its descendants included; blocks: the forms."""

    nodes: FloatArray
    blocks: list[NDArray[np.float64]]


def _form(block: Block, nodes: FloatArray) -> NDArray[np.float64]:
    form = (block.sums.T * nodes[block.inner]) @ block.sums
    form[np.diag_indices_from(form)] += nodes[block.members]
    return form


def _subtree_sums(tree: TreeBlocks, values: FloatArray) -> FloatArray:
    sums = values.copy()
    for first, last in _levels(tree):
        np.add.at(sums, tree.parent[first:last], sums[first:last])
    return sums


def _levels(tree: TreeBlocks) -> Iterator[tuple[int, int]]:
    """The levels of nodes, the deepest first, without the first node."""
    depth = np.zeros(len(tree.parent), dtype=np.int64)
    for node in range(1, len(depth)):
        depth[node] = depth[tree.parent[node]] + 1
    ends = np.searchsorted(depth, np.arange(depth[-1] + 2))
    yield from zip(ends[1:-1][::-1].tolist(), ends[2:][::-1].tolist(), strict=True)


def _best_covariance(
    form: NDArray[np.float64], multipliers: FloatArray, share: FloatArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``Z X Z^T`` (k, k) for the best X, and ``Z X^{-1} Z^T``.  Source: spec section 5, the dual."""
    Z = zero_sum_basis(len(form))
    values, vectors = np.linalg.eigh(Z.T @ form @ Z)
    roots = np.sqrt(np.maximum(values, _LEAST * max(float(values.sum()), _TINY) / len(values)))
    half = (vectors * roots) @ vectors.T
    atoms = half @ (Z.T - (Z.T @ share)[:, None])
    moment = (atoms * multipliers) @ atoms.T
    squares, frame = np.linalg.eigh(moment)
    size = np.sqrt(np.sqrt(np.maximum(squares, squares[-1] * 1e-15)))
    outer = Z @ (vectors / roots) @ (vectors.T @ (frame * size))
    inner = Z @ half @ (frame / size)
    return outer @ outer.T, inner @ inner.T


def _best_shares(inverse: NDArray[np.float64], form: NDArray[np.float64], multipliers: FloatArray) -> FloatArray:
    """The shares u that minimize ``sum l_j (e_j - u)^T inverse (e_j - u) + u^T form u``, of sum 1."""
    Z, k = zero_sum_basis(len(form)), len(form)
    total = float(multipliers.sum())
    whole = total * inverse + form
    even = np.full(k, 1 / k)
    step: FloatArray = np.linalg.solve(Z.T @ whole @ Z, Z.T @ (inverse @ multipliers - whole @ even))
    return even + Z @ step

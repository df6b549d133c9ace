"""A hierarchy as a tree of groups of values, cut into branches that are solved each for itself.

Source: eq. (115).

A node is a set of values that some row adds up.  A branch is a node, its root, with descendants of it, its members,
whose sums give those of all nodes between: as deep as its members are no more than a limit, and at least its children.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.searches.merged_grams import MergedRows

#: Entries of a row that differ by less than this, relative, are equal but for rounding.
_EVEN = 1e-13


@dataclass(frozen=True, eq=False, slots=True)
class EqualBranches:
    """Branches of equally many members, none above another."""

    roots: IntArray  # (b,): their nodes
    members: IntArray  # (b, k): nodes that together have each value of the root once
    #: Of branches with nodes in between: their number here, these nodes (i,), and whether each has a member, (i, k).
    inner: tuple[tuple[int, IntArray, FloatArray], ...]

    def forms(self, nodes: FloatArray) -> NDArray[np.float64]:
        """The form of the members' sums of each branch for weights (nodes,), (b, k, k)."""
        k = self.members.shape[1]
        forms = np.zeros((*self.members.shape, k))
        forms[:, np.arange(k), np.arange(k)] = nodes[self.members]
        for number, inside, sums in self.inner:
            forms[number] += (sums.T * nodes[inside]) @ sums
        return forms


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """The nodes of a hierarchy, parents before children, and its branches."""

    parent: IntArray  # (nodes,): of each node; -1 of the first, which has all values
    group: IntArray  # (g,): the node of each group
    weights: FloatArray  # (kinds, nodes): the squares of rows that add up a node's values, summed, per row of the kind
    branches: tuple[EqualBranches, ...]  # those above before those below; the first is that of the first node

    @property
    def below(self) -> sparse.csr_array:
        """The matrix that adds up numbers of the groups for each node, (nodes, g)."""
        groups = np.arange(len(self.group))
        rows, columns, node = [self.group], [groups], self.group
        while (above := self.parent[node] >= 0).any():
            node, groups = self.parent[node[above]], groups[above]
            rows.append(node)
            columns.append(groups)
        where = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(where[0])), where), shape=(len(self.parent), len(self.group)))


def tree_of_rows(rows: Sequence[MergedRows], most: int) -> Tree | None:
    """The tree of the rows of several kinds over groups; None where rows overlap without one being inside another.

    Rows that add up the same values are one node.  Rows whose entries differ are none of a hierarchy.  A branch has at
    most ``most`` members; a node of more children gets nodes in between, which no row adds up.
    """
    found = _sets(rows)
    if found is None:
        return None
    members, weights = found
    parent = _parents(members, len(rows[0].width))
    if parent is None:
        return None
    group = np.arange(len(parent) - len(rows[0].width), len(parent))
    parent, order = _from_the_root(_narrowed(parent, most))
    weights = np.pad(weights, ((0, 0), (0, len(order) - weights.shape[1])))[:, order]
    return Tree(parent, np.argsort(order)[group], weights, _branches(parent, most))


def _sets(rows: Sequence[MergedRows]) -> tuple[list[IntArray], FloatArray] | None:
    """The groups of each node, from all of them to single ones, and the weights of each kind, (kinds, nodes)."""
    size = len(rows[0].width)
    everything = np.arange(size, dtype=np.int64)
    found: dict[bytes, tuple[IntArray, FloatArray]] = {}
    for members in (everything, *everything[:, None]):
        found[members.tobytes()] = members, np.zeros(len(rows))
    for number, kind in enumerate(rows):
        means = kind.means.copy()
        means.eliminate_zeros()
        means.sort_indices()
        if (kind.constant[np.diff(means.indptr) > 0] != 0).any():
            return None
        for start, end in zip(means.indptr[:-1].tolist(), means.indptr[1:].tolist(), strict=True):
            entries = means.data[start:end]
            if not len(entries):
                continue
            if np.ptp(entries) > _EVEN * np.abs(entries).max():
                return None
            members = means.indices[start:end].astype(np.int64)
            weight = found.setdefault(members.tobytes(), (members, np.zeros(len(rows))))[1]
            weight[number] += entries[0] ** 2 / kind.count
    nodes = sorted(found.values(), key=lambda node: (-len(node[0]), node[0][0]))
    return [members for members, _ in nodes], np.array([weights for _, weights in nodes]).T


def _parents(members: Sequence[IntArray], size: int) -> IntArray | None:
    """The parent of each node, -1 of the first, where every node is inside one before it or apart; else None."""
    innermost = np.full(size, -1, dtype=np.int64)
    parent = np.empty(len(members), dtype=np.int64)
    for node, inside in enumerate(members):
        above = innermost[inside]
        if (above != above[0]).any():
            return None
        parent[node] = above[0]
        innermost[inside] = node
    return parent


def _narrowed(parent: IntArray, most: int) -> IntArray:
    """Nodes between each node of too many children and these, those of like size together, after the others."""
    size = np.ones(len(parent))
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    found = parent.tolist()
    for node in np.flatnonzero(np.bincount(parent[1:], minlength=len(parent)) > most).tolist():
        children = np.flatnonzero(parent == node)
        children = children[np.argsort(-size[children], kind="stable")]
        while len(children) > most:
            parts = np.array_split(children, -(-len(children) // most))
            for number, part in enumerate(parts):
                if len(part) == 1:
                    continue
                found += [node]
                for child in part.tolist():
                    found[child] = len(found) - 1
                parts[number] = np.array([len(found) - 1])
            children = np.concatenate(parts)
    return np.array(found, dtype=np.int64)


def _from_the_root(parent: IntArray) -> tuple[IntArray, IntArray]:
    """The parents with nodes level after level, siblings together; and which node each of these was."""
    levels = [np.flatnonzero(parent < 0)]
    children = _children(parent)
    while len(levels[-1]):
        levels.append(np.array([child for node in levels[-1].tolist() for child in children[node]], dtype=np.int64))
    order = np.concatenate(levels)
    rank = np.append(np.argsort(order), -1)
    return rank[parent[order]], order


def _branches(parent: IntArray, most: int) -> tuple[EqualBranches, ...]:
    children, depth, roots = _children(parent), {0: 0}, [0]
    found: dict[tuple[int, int], list[tuple[int, list[int], list[int]]]] = {}
    for root in roots:  # grows while it is read
        members, inner = children[root], list[int]()
        while (deeper := [child for node in members for child in children[node] or [node]]) != members:
            if len(deeper) > most:
                break
            inner += [node for node in members if children[node]]
            members = deeper
        depth.update(dict.fromkeys(members, depth[root] + 1))
        found.setdefault((depth[root], len(members)), []).append((root, members, inner))
        roots += [node for node in members if children[node]]
    return tuple(
        EqualBranches(
            np.array([root for root, _, _ in own]),
            np.array([members for _, members, _ in own]),
            tuple(
                (number, np.array(inner), _sums(parent, root, members, inner))
                for number, (root, members, inner) in enumerate(own)
                if inner
            ),
        )
        for _, own in sorted(found.items())
    )


def _sums(parent: IntArray, root: int, members: Sequence[int], inner: Sequence[int]) -> FloatArray:
    """Which members each of the nodes in between has, (i, k), ones and zeros."""
    sums = np.zeros((len(inner), len(members)))
    for number, member in enumerate(members):
        above = int(parent[member])
        while above != root:
            sums[inner.index(above), number] = 1.0
            above = int(parent[above])
    return sums


def _children(parent: IntArray) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            children[above].append(node)
    return children

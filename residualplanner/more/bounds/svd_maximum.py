"""The greatest singular value bound over all weights of cells: a lower bound on the largest cell variance.

Source: eqs. (16), (17) and (33); docs/mathematics.md section 10, warning 1.

With weights of sum 1 on the cells, the largest variance is at least the weighted sum, and that at least its bound.  The
root of the bound is concave in the weights; its slope in a weight is half of what the cell's variance would be in the
mechanism that the bound describes, over the root.  Weights are found by a multiplicative update, as for given bases.
By convexity cells that can be exchanged have one weight: those that differ in the values of attributes queried as
identity only, and those of queries that such attributes of one size exchange.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.symmetry import workload_orbits
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds import svd_bound
from residualplanner.more.bounds.blocks import TERM, Pattern, coordinates, require_quick
from residualplanner.more.searches.eigen import eigen, reflected, reflected_form
from residualplanner.more.searches.extrapolation import Extrapolation

#: How many weights there are at most.
_WEIGHTS = 500_000
#: The search ends when no weights can raise the bound by more than this fraction, or after so many steps; it is not
#: begun for fewer than these.
_GAP, _STEPS, _FEWEST = 5e-5, 200, 10
#: Seconds of one core for a step in any case, for each cube of rows of a matrix, and for each entry of rows and tables.
_STEP, _CUBE, _CELL = 3e-4, 1e-9, 1e-8
#: The power of the ratio by which weights are multiplied; how far their logarithms lie apart.
_EXPONENT, _APART = 3.0, 60.0
#: How many pairs of entries of rows are worked on at a time.
_PAIRS = 2**22
#: A block of the Gram matrix: of each group in it the number, the coefficient and the coordinates of its rows; how many
#: coordinates there are; what the first of them is multiplied by; how often the block is there.
_Block = tuple[list[tuple[int, float, NDArray[np.int64]]], int, float, float]


def greatest_bound(
    workload: Workload, importance: FloatArray, values: Mapping[int, FloatArray], law: float | None, seconds: float
) -> float:
    """The greatest bound for a sum of cell variances whose weights, over the ``importance`` (q,), have sum 1."""
    return _WeightSearch.of(workload, importance, values, law, seconds).run(seconds)


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """Exchangeable queries: their cells' weights are one array, with an axis for each attribute with own rows."""

    kinds: tuple[Kind, ...]  # of query, for the attribute of each axis
    sizes: tuple[int, ...]  # how many values it has
    count: float  # how many cells there are for each weight, counting those that differ in other attributes' values
    roots: tuple[FloatArray, ...]  # (n,): of the weights of the values of the attribute of each axis

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(kind.rows(size) for kind, size in zip(self.kinds, self.sizes, strict=True))

    def gram(self, weights: FloatArray) -> NDArray[np.float64]:
        """The weighted Gram matrix of the rows times the roots, in coordinates of which these are the first, (n, n)."""
        if len(self.sizes) == 1:
            gram, (root,) = self.kinds[0].weighted_gram(weights, self.sizes[0]), self.roots
            return reflected_form(gram * np.outer(root, root), root)
        found = weights
        for kind, root in zip(self.kinds, self.roots, strict=True):
            flat = found.reshape(len(found), -1)
            pieces = [flat[rows].T @ squares for rows, squares in _squares(kind, root)]
            found = np.sum(pieces, axis=0).reshape(*found.shape[1:], -1)  # the axis goes last, as pairs of coordinates
        pairs = found.reshape(np.repeat(self.sizes, 2))
        order = [*range(0, pairs.ndim, 2), *range(1, pairs.ndim, 2)]
        return pairs.transpose(order).reshape(math.prod(self.sizes), -1)

    def row_forms(self, form: NDArray[np.float64]) -> FloatArray:
        """``w^T form w`` for every row w in the same coordinates, shaped as weights."""
        if len(self.sizes) == 1:
            (root,) = self.roots
            return self.kinds[0].row_forms(reflected_form(form, root) * np.outer(root, root))
        half = len(self.sizes)
        pairs = form.reshape(self.sizes * 2).transpose([axis for i in range(half) for axis in (i, half + i)])
        found: FloatArray = pairs.reshape([size * size for size in self.sizes])
        for kind, root in zip(self.kinds, self.roots, strict=True):
            flat = found.reshape(len(root) ** 2, -1)
            pieces = [(squares @ flat).T for _, squares in _squares(kind, root)]
            found = np.concatenate(pieces, axis=1).reshape(*found.shape[1:], -1)
        return found


@dataclass(frozen=True, eq=False, slots=True)
class _WeightSearch:
    groups: list[_Rows]  # of exchangeable queries
    flat: NDArray[np.int64]  # the numbers of the groups without axes, which have a single weight
    table: sparse.csr_array  # (b, flat): the coefficients of blocks with a single coordinate
    count: FloatArray  # (b,): how often each of them is there
    blocks: list[_Block]  # all others

    @classmethod
    def of(
        cls,
        workload: Workload,
        importance: FloatArray,
        values: Mapping[int, FloatArray],
        law: float | None,
        seconds: float,
    ) -> "_WeightSearch":
        """Group the queries, and find the blocks; WorkloadError where that alone takes more than so many seconds."""
        svd_bound.require_exchangeable_values(workload)
        single = np.logical_not(workload.uses[:, [not kind.is_identity for kind in workload.kinds]].any(axis=1))
        sizes = np.array(workload.domain.sizes, dtype=np.float64)
        orbits = workload_orbits(workload, np.where(single, sizes, -1 - np.arange(len(sizes))), importance)
        require_quick(TERM * float((2.0 ** workload.orders[orbits.representative]).sum()), seconds)
        patterns = _patterns(workload, orbits.representative, single)
        groups = _groups(workload, patterns, orbits.query_size, values)
        corner = np.where(single, 1 / sizes**2, 1.0)[:, None] * np.ones(len(workload.kinds))
        group_of = (orbits.query[queries, None] for queries, _ in workload.runs(svd_bound.CHUNK))
        table = svd_bound.block_table(workload, importance, corner, single & (sizes > 1), group_of, len(groups))
        count = workload.closure.products(np.where(single, (sizes - 1) / sizes, 0.0))
        has_axes = np.array([bool(group.kinds) for group in groups])
        in_block = (table @ has_axes.astype(np.float64)) > 0
        flat = np.flatnonzero(~has_axes)
        simple = ~in_block & (np.diff(table.indptr) > 0)
        firsts = svd_bound.corner_factors(workload, law)
        blocks: list[_Block] = []
        for columns, entries, first, scale in svd_bound.distinct_rows(
            table[in_block], count[in_block], firsts[in_block]
        ):
            inside = [patterns[column] for column in columns]
            lengths = {attribute: workload.domain.sizes[attribute] for pattern in inside for attribute, _ in pattern}
            size, indices = coordinates(inside, lengths)
            blocks.append((list(zip(columns.tolist(), entries.tolist(), indices, strict=True)), size, first, scale))
        return cls(groups, flat, table[simple][:, flat], (count * firsts)[simple], blocks)

    @property
    def step_seconds(self) -> float:
        rows = sum(float(size) ** 3 for _, size, _, _ in self.blocks)
        cells = sum(math.prod(group.shape) * math.prod(group.sizes) for group in self.groups if group.kinds)
        return _STEP + _CUBE * rows + _CELL * (self.table.nnz + cells)

    def run(self, seconds: float) -> float:
        """Search for some seconds, and return the greatest bound seen."""
        require_quick(_FEWEST * self.step_seconds, seconds)
        count = np.concatenate([np.full(math.prod(group.shape), group.count) for group in self.groups])
        logs, steady, most = np.log(count), Extrapolation(), math.inf  # of the weights of all cells that share one
        for _ in range(int(min(_STEPS, seconds / self.step_seconds))):
            weights = np.exp(np.maximum(logs - logs.max(), -_APART))
            weights /= weights.sum()
            value, ratios = self._at(weights / count)
            logs = steady.climb(value, weights, ratios, _EXPONENT)
            # The root is concave and of degree 1/2: no weights have more than this.
            most = min(most, value * float(ratios.max()))
            if most <= steady.highest * (1 + _GAP):
                break
        return steady.highest * steady.highest

    def _at(self, of_all: FloatArray) -> tuple[float, FloatArray]:
        """The root of the bound for weights (w,), and cells' variances over their weighted mean.  Source: eq. (33)."""
        ends = np.cumsum([math.prod(group.shape) for group in self.groups])[:-1]
        weights = [part.reshape(group.shape) for part, group in zip(np.split(of_all, ends), self.groups, strict=True)]
        slopes = [np.zeros_like(weight) for weight in weights]
        simple = self.table @ np.array([float(weights[number]) for number in self.flat])
        roots = np.sqrt(np.maximum(simple, 1e-300))
        value = float((self.count * roots).sum())
        for number, slope in zip(self.flat.tolist(), self.table.T @ (self.count / roots), strict=True):
            slopes[number] += slope
        grams: dict[int, NDArray[np.float64]] = {}
        forms: dict[int, NDArray[np.float64]] = {}
        for parts, size, first, count in self.blocks:
            matrix = np.zeros((size, size))
            for number, entry, index in parts:
                if number not in grams:
                    grams[number] = self.groups[number].gram(weights[number])
                matrix[np.ix_(index, index)] += entry * grams[number]
            matrix[0] *= first
            matrix[:, 0] *= first
            values, vectors = eigen(matrix)
            value += count * float(np.sqrt(np.maximum(values, 0.0)).sum())
            half = vectors / np.maximum(values, values[-1] * 1e-15) ** 0.25
            half[0] *= first
            for number, entry, index in parts:
                part = half[index]
                forms[number] = forms.get(number, 0.0) + count * entry * (part @ part.T)
        for number, form in forms.items():
            slopes[number] += self.groups[number].row_forms(form)
        ratios = [slope.ravel() / (value * group.count) for slope, group in zip(slopes, self.groups, strict=True)]
        return value, np.concatenate(ratios)


def _patterns(workload: Workload, numbers: NDArray[np.int64], single: NDArray[np.bool_]) -> list[Pattern]:
    """For the queries with these numbers the attributes with rows of their own, and their kinds."""
    patterns: list[Pattern] = []
    ends = np.cumsum([len(block) for block in workload.blocks])
    for number in numbers.tolist():
        order = int(np.searchsorted(ends, number, side="right"))
        block = workload.blocks[order]
        row = number - int(ends[order])
        pairs = zip(block.attributes[row].tolist(), block.kinds[row].tolist(), strict=True)
        patterns.append(tuple((attribute, kind) for attribute, kind in pairs if not single[attribute]))
    return patterns


def _groups(
    workload: Workload, patterns: list[Pattern], counts: NDArray[np.int64], values: Mapping[int, FloatArray]
) -> list[_Rows]:
    groups, sizes = [], workload.domain.sizes
    roots = [np.sqrt(values.get(attribute, np.full(size, 1 / size))) for attribute, size in enumerate(sizes)]
    for pattern, count in zip(patterns, counts.tolist(), strict=True):
        kinds = tuple(workload.kinds[code] for _, code in pattern)
        own = [attribute for attribute, _ in pattern]
        groups.append(_Rows(kinds, tuple(sizes[i] for i in own), float(count), tuple(roots[i] for i in own)))
    weights = sum(math.prod(group.shape) for group in groups)
    if weights > _WEIGHTS:
        raise WorkloadError(f"weights of {weights:,} cells that cannot be exchanged, the limit is {_WEIGHTS:,}")
    return groups


def _squares(kind: Kind, root: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """For runs of rows of a kind: which they are, and the products of all pairs of entries of each, (q, n * n).

    Entries are those of the rows times the ``root`` (n,), in coordinates of which it is the first.
    """
    rows = reflected(kind.matrix(len(root)) * root, root)
    step = max(1, _PAIRS // len(root) ** 2)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        yield slice(start, start + step), (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)

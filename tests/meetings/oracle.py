"""What must come out, by arithmetic on records and explicit matrices; nothing of the package is called here.

A record is a mapping from attributes to codes, or of amounts to (bin, amount), with its weight.  A question has for
each axis a list of rows, and a row says what a value counts in it.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

Value = Any  # a code, or (bin, amount)
Row = Callable[[Value], Fraction | int]
Record = tuple[Fraction, Mapping[str, Value]]
#: At most so many codes an attribute has.
_CODES = {"a": 6, "b": 2, "d": 3}
#: Costs this close, relatively, may be the largest one; so many of them are compared exactly.
CLOSE, _MOST = 1e-9, 12


@dataclass(frozen=True)
class Question:
    """A table to publish: ``query`` as Python writes it, ``spec`` as an entry of a spec, and what its answers count."""

    query: Any
    spec: Mapping[str, Any]
    axes: Mapping[str, Sequence[Row]]
    where: Mapping[str, frozenset[int]] = field(default_factory=dict)
    at_least: int = 0
    statistic: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each axis has."""
        return tuple(map(len, self.axes.values()))

    @property
    def cells_of_answers(self) -> float:
        """How many cells at most an answer adds up, weighted: of codes, few enough to try them all."""
        parts = [
            max(sum(abs(row(code)) for code in range(_CODES.get(name, 0))) for row in rows)
            for name, rows in self.axes.items()
        ]
        selected = math.prod(map(len, self.where.values()))
        return float(math.prod(parts) * selected) if not self.at_least else 50.0

    def answers(self, values: Mapping[str, Value]) -> np.ndarray:
        """What a record of these values adds to each answer, at weight 1."""
        if any(values[name] not in codes for name, codes in self.where.items()):
            return np.zeros(self.shape, dtype=object)
        parts = [[row(values[name]) for row in rows] for name, rows in self.axes.items()]
        if self.at_least:
            counted = [int(sum(found) >= self.at_least) for found in itertools.product(*parts)]
        else:
            counted = [math.prod(found) for found in itertools.product(*parts)]
        return np.array(counted, dtype=object).reshape(self.shape)


def truth(question: Question, records: Iterable[Record]) -> np.ndarray:
    """The table without noise."""
    zero = np.zeros(question.shape, dtype=object)
    return sum((weight * question.answers(values) for weight, values in records), zero)


# Rows.


def single(codes: Iterable[int]) -> Row:
    """Of how many records the value is one of these."""
    chosen = frozenset(codes)
    return lambda value: int(value in chosen)


def weighted(weights: Sequence[int]) -> Row:
    """The sum of a weight for each value."""
    return lambda value: weights[value] if value < len(weights) else 0


def kind_rows(kind: str, values: int, own: int) -> list[Row]:
    """The rows of a kind on an attribute of so many values and labels of its own after them."""
    n = values + own
    runs = {
        "identity": [[code] for code in range(n)],
        "prefix": [range(code + 1) for code in range(n)],
        "range": [range(start, stop + 1) for start in range(n) for stop in range(start, n)],
    }
    if kind in runs:
        return [single(codes) for codes in runs[kind]]
    if kind == "proportions":
        others = [[code for code in range(n) if code != value] for value in range(n)]
        return [single(codes) for codes in (range(n), *runs["identity"], *others)]
    if kind == "custom":
        return [weighted([1] * n), weighted(range(1, n + 1))]
    bands = [range(start, min(start + 2, values)) for start in range(0, values, 2)]
    groups = [range(n), *bands, *([code] for code in range(values, n))]
    alone = [list(band) for band in bands]
    leaves = [[code] for code in range(values) if [code] not in alone] if kind == "hierarchy" else []
    return [single(codes) for codes in (*groups, *leaves)]


def amount_rows(kind: Any, edges: Sequence[int], own: int) -> list[Row]:
    """The rows of a kind of query on amounts in bins; a value is (bin, amount), the last bin that of no amount."""
    low, high, bins = edges[0], edges[-1], len(edges) - 1
    word = kind if isinstance(kind, str) else kind["kind"]

    def row(of: Callable[[int, Fraction], Fraction]) -> Row:
        return lambda value: 0 if value[1] is None else of(*value)

    if word == "identity":
        return [lambda value, number=number: int(value[0] == number) for number in range(bins + own)]
    if word == "proportions":
        every = range(bins + own)
        others = [lambda value, number=number: int(value[0] != number) for number in every]
        return [lambda _: 1, *(lambda value, number=number: int(value[0] == number) for number in every), *others]
    if word == "sum" and not isinstance(kind, str):
        return [row(lambda found, amount, number=number: amount * (found == number)) for number in range(bins)]
    if word == "sum":
        return [row(lambda _, amount: amount)]
    count = row(lambda *_: 1)
    if word == "quantiles":
        half = Fraction(1, 2)
        inner = range(1, bins)
        return [count, *(row(lambda found, _, edge=edge: half if found < edge else -half) for edge in inner)]
    if word in ("standard deviation", "moments"):
        every = _deviation_rows(row, Fraction(low + high, 2), Fraction(high - low, 2))
        return every[:6] if word == "standard deviation" else [every[0], every[6], every[3]]
    between = (low, high) if isinstance(kind, str) else kind["between"]
    span = high - low
    above = row(lambda _, amount: (amount - between[0]) / span)
    below = row(lambda _, amount: (between[1] - amount) / span)
    return [count, above, below]


def _deviation_rows(
    row: Callable[[Callable[[int, Fraction], Fraction]], Row], middle: Fraction, half: Fraction
) -> list[Row]:
    def of(count: Fraction, once: Fraction, squared: Fraction) -> Row:
        return row(
            lambda _, amount: count + once * (amount - middle) / half + squared * ((amount - middle) / half) ** 2
        )

    one, part = Fraction(1), Fraction(1, 2)
    return [
        of(one, 0, 0),
        of(part, part, 0),
        of(part, -part, 0),
        of(0, 0, one),
        of(one, 0, -one),
        of(0, part, part),
        of(0, one, 0),
    ]


# Costs and errors of what was measured, from its matrices.


@dataclass(frozen=True)
class Measured:
    """What a plan measures, as its public properties say.

    Attributes:
        sizes: of the attributes, amounts with two cells for each bin.
        precision: 1 / sigma squared of each set of attributes, exactly.
        matrix: of an attribute in a set the integers that are measured, None for differences of single values.
    """

    sizes: tuple[int, ...]
    precision: Mapping[tuple[int, ...], Fraction]
    matrix: Callable[[tuple[int, ...], int], np.ndarray | None]
    factors: dict[Any, np.ndarray] = field(default_factory=dict)
    rounded: dict[Any, np.ndarray] = field(default_factory=dict)

    def gram(self) -> np.ndarray:
        """``B^T Sigma^-1 B`` over all cells, (n, n), rounded."""
        cells = np.array(list(np.ndindex(*self.sizes)))
        total = np.zeros((len(cells),) * 2)
        for members, precision in self.precision.items():
            part = np.full((len(cells),) * 2, float(precision))
            for i in members:
                part *= self._rounded(members, i)[np.ix_(cells[:, i], cells[:, i])]
            total += part
        return total

    def _rounded(self, members: tuple[int, ...], i: int) -> np.ndarray:
        exact = self._factor(members, i)
        if id(exact) not in self.rounded:  # `factors` keeps it
            self.rounded[id(exact)] = exact.astype(np.float64)
        return self.rounded[id(exact)]

    def rows(self) -> np.ndarray:
        """``Sigma^(-1/2) B`` over all cells, (m, n), rounded."""
        found = []
        for members, precision in self.precision.items():
            parts = [self._rows(members, i) if i in members else np.ones((1, n)) for i, n in enumerate(self.sizes)]
            found.append(math.sqrt(precision) * reduce(np.kron, parts))
        return np.vstack(found)

    def _rows(self, members: tuple[int, ...], i: int) -> np.ndarray:
        matrix, size = self.matrix(members, i), self.sizes[i]
        return np.eye(size) - 1 / size if matrix is None else matrix.astype(np.float64)

    def entry(self, first: Sequence[int], second: Sequence[int]) -> Fraction:
        """One entry of it, exactly, of two cells."""
        return sum(
            (
                precision
                * math.prod((self._factor(members, i)[first[i], second[i]] for i in members), start=Fraction(1))
                for members, precision in self.precision.items()
            ),
            Fraction(0),
        )

    def _factor(self, members: tuple[int, ...], i: int) -> np.ndarray:
        """What one attribute contributes: of differences, whose noise is that of differences, the centering matrix."""
        matrix, size = self.matrix(members, i), self.sizes[i]
        key = i, None if matrix is None else matrix.tobytes()
        if key not in self.factors:
            exact = np.full((size, size), Fraction(0), dtype=object)
            for r, s in np.ndindex(size, size):
                exact[r, s] = (
                    Fraction(int(r == s)) - Fraction(1, size)
                    if matrix is None
                    else Fraction(sum(int(one) * int(two) for one, two in zip(matrix[:, r], matrix[:, s], strict=True)))
                )
            self.factors[key] = exact
        return self.factors[key]


def cost(measured: Measured, *, replace: bool, records: int, largest_weight: Fraction) -> Fraction:
    """The most that one person's records can change all answers, in squared standard deviations, exactly.

    Which cells these are is found in floating point; all that come close are compared exactly.
    """
    floats, cells = measured.gram(), list(np.ndindex(*measured.sizes))
    own = np.diag(floats)
    changes = own[:, None] + own - 2 * floats if replace else own
    close = np.argwhere(changes >= changes.max() * (1 - CLOSE))[:_MOST].tolist()
    if not replace:
        return max(measured.entry(cells[r], cells[r]) for (r,) in close) * records**2 * largest_weight**2
    pairs = [(cells[r], cells[s]) for r, s in close]
    worst = max(measured.entry(r, r) + measured.entry(s, s) - 2 * measured.entry(r, s) for r, s in pairs)
    return worst * records**2


def _answers(question: Question, parts: Sequence[tuple[float, Mapping[str, Value]]]) -> np.ndarray:
    return sum(weight * question.answers(values).ravel().astype(np.float64) for weight, values in parts)


def std_errs(
    measured: Measured, questions: Sequence[Question], cells: Sequence[Sequence[tuple[float, Mapping[str, Value]]]]
) -> list[np.ndarray]:
    """The standard error of each answer of some questions by least squares; a cell is a weighted sum of values."""
    inverse = np.linalg.pinv(measured.rows(), rcond=1e-12)
    found = []
    for question in questions:
        rows = np.array([_answers(question, parts) for parts in cells]).T
        found.append(np.sqrt(((rows @ inverse) ** 2).sum(axis=1)).reshape(question.shape))
    return found

"""Answers to r-of-k thresholds: how many records match a cell of a table in at least r of its k attributes.

Source: eqs. (58) and (59); docs/adaptive-projection.md eq. (b).

Everything here is one recursion over the attributes.  It keeps, for j = 0 to r, what has matched exactly j attributes
so far, or for j = r at least as many; what is kept are tables, probabilities or numbers of cells.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add, mul

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron.arrays import Array, SameArray, namespace
from residualplanner.method.queries.identity import Identity, Matching, require_threshold
from residualplanner.method.queries.kind import Kind

#: The least factor of a residual, relative to a query's largest.
_LEAST = 2.0**-50

#: What becomes of what the recursion keeps, an array of any library or a number, at an attribute.
Step = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, init=False)
class Threshold(Mapping[str, Kind]):
    """A query that counts, for each combination of values, the records that have at least so many of them.

    It is a mapping from attribute names to kinds of query, and goes wherever such a mapping does.  Its table has the
    shape of the marginal's, and a record counts in several cells.  A threshold of all its attributes is the marginal.

    Attributes:
        attributes: their names, in the order of the table's axes.
        at_least: how many of them must match, from 1 (any of them) to all.

    Raises:
        WorkloadError: the attributes are not names in order, or ``at_least`` is not an integer from 1 to their number.

    Source: eq. (58).

    Example:
        >>> either = Threshold(("sex", "region"), 1)
        >>> dict(either)
        {'sex': Matching(at_least=1), 'region': Matching(at_least=1)}
        >>> dict(Threshold(("sex", "region"), 2))
        {'sex': Identity(), 'region': Identity()}
    """

    attributes: tuple[str, ...]
    at_least: int

    def __init__(self, attributes: Sequence[str], at_least: int) -> None:
        is_listed = isinstance(attributes, Sequence) and not isinstance(attributes, str)
        if not is_listed or not all(isinstance(name, str) for name in attributes):
            raise WorkloadError(
                f'attributes of a threshold must be names in order, as in ("age", "sex"), got {value_text(attributes)}'
            )
        require_threshold(at_least, len(attributes))
        object.__setattr__(self, "attributes", tuple(attributes))
        object.__setattr__(self, "at_least", at_least)

    def __getitem__(self, name: str) -> Kind:
        if name not in self.attributes:
            raise KeyError(name)
        return Identity() if self.at_least == len(self.attributes) else Matching(self.at_least)

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)


def threshold_map(table: SameArray, at_least: int, *, axes: Sequence[int] | None = None) -> SameArray:
    """The table (..) of an r-of-k threshold from that of its marginal, along all axes or some: of counts or fractions.

    Integers stay integers, and are exact where 64 bits hold the sum of the table times 2**k.  The map is symmetric: it
    is its own adjoint.  Source: eq. (58).
    """
    xp = namespace(table)
    members = range(table.ndim) if axes is None else axes  # type: ignore[attr-defined]
    steps = [(_same, partial(xp.sum, axis=axis, keepdims=True)) for axis in members]
    found: SameArray = _at_least(at_least, steps, table)
    return found


def threshold_probability(probabilities: Sequence[SameArray], at_least: int) -> SameArray:
    """The probability that at least r of k independent events happen: the tail of a Poisson-binomial law.

    Of each event a number, or an array that broadcasts; any real number is taken for p in the polynomial
    ``sum_T prod_T p prod_{not T} (1 - p)``.  Source: eq. (58) with p and 1 - p in place of the matrices.
    """
    found: SameArray = _at_least(at_least, [(_times(p), _same) for p in probabilities], 1.0)
    return found


def threshold_count(sizes: Sequence[int], at_least: int) -> int:
    """How many cells of a threshold's table a record counts in, for attributes of some sizes (k,).

    It is the squared L2 sensitivity of the table where a record is added or removed.  Source: eq. (59), of none.
    """
    return int(_at_least(at_least, [(_same, partial(mul, size)) for size in sizes], 1))


def threshold_factors(is_joint: NDArray[np.bool_], sizes: NDArray[np.int64], at_least: int) -> NDArray[np.float64]:
    """What the map of one joint kind multiplies the residuals of all subsets by, (m, 2**k): 1 for queries without it.

    `threshold_map` commutes with permutations of each attribute's values, so that on the residual of a set of
    attributes, repeated along all others, it is a number.  In the recursion the states are arrays (m, 2**i) after i
    attributes, and an attribute that is not joint changes none.  Source: eq. (59).
    """
    count = len(is_joint)
    states = [np.ones((count, 1)), *(np.zeros((count, 1)) for _ in range(at_least))]
    for axis in range(is_joint.shape[1]):
        joint, size = is_joint[:, axis, None], sizes[:, axis, None].astype(np.float64)
        lower = [np.zeros_like(states[0]), *states[:-1]]
        absent = [state * (size - 1) + less for state, less in zip(states, lower, strict=True)]
        present = [less - state for state, less in zip(states, lower, strict=True)]
        absent[-1], present[-1] = states[-1] * size + lower[-1], lower[-1]  # the last one stands for as many or more
        states = [
            np.concatenate([np.where(joint, out, state), np.where(joint, within, state)], axis=1)
            for state, out, within in zip(states, absent, present, strict=True)
        ]
    found = np.where(is_joint.any(axis=1, keepdims=True), states[-1], 1.0)
    return np.where(found == 0, _LEAST * np.abs(found).max(axis=1, keepdims=True), found)


def threshold_distance(sizes: Sequence[int], at_least: int, *, agreeing: Sequence[int] = ()) -> int:
    """In how many cells of a threshold's table two records differ that agree in some axes, and no others.

    It is the squared L2 distance of their tables, and where a record is replaced, the largest of these over all
    ``agreeing`` is the squared L2 sensitivity.  Source: docs/adaptive-projection.md eq. (b).
    """
    require_threshold(at_least, len(sizes))
    cells = {(0, 0): 1}  # by how many attributes match the first record, and the second, up to r
    for axis, size in enumerate(sizes):
        steps = {(1, 1): 1, (0, 0): size - 1} if axis in agreeing else {(1, 0): 1, (0, 1): 1, (0, 0): size - 2}
        extended: dict[tuple[int, int], int] = {}
        for (first, second), count in cells.items():
            for (one, other), ways in steps.items():
                key = min(first + one, at_least), min(second + other, at_least)
                extended[key] = extended.get(key, 0) + count * ways
        cells = extended
    return 2 * (threshold_count(sizes, at_least) - cells.get((at_least, at_least), 0))


def _same(state: Array) -> Array:
    return state


def _times(factor: Array) -> Step:
    """Multiplication by a factor; of the number 1, which the recursion starts with, it is the factor, not a copy."""
    return lambda state: factor if isinstance(state, float) and state == 1 else factor * state


def _at_least(r: int, steps: Sequence[tuple[Step, Step]], start: Array) -> Array:
    """What has matched at least r of k attributes; of each, what makes of a state the part that matches, and all."""
    k = len(steps)
    require_threshold(r, k)
    states: dict[int, Array] = {0: start}
    for number, (matched, either) in enumerate(steps):
        found: dict[int, Array] = {}
        for j in range(max(0, r - (k - 1 - number)), min(r, number + 1) + 1):  # no others can still come to r
            # j stays where the attribute does not match, or r is reached; it is one more than before where it does.
            terms = [either(states[j])] if j in states else []
            terms += [-matched(states[j])] if j in states and j < r else []
            terms += [matched(states[j - 1])] if j - 1 in states else []
            found[j] = reduce(add, terms)
        states = found
    return states[r]

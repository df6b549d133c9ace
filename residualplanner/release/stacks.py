"""Tables from residual answers, many of the same bases and kinds of query at a time, on the host or on a device.

Nothing loops over tables.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import require_type
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.kron.arrays import Array, Scratch, empty_floats, read_only
from residualplanner.method.kron.axis_maps import AxisMap, ProductMap, keeping, rebuilding_differences
from residualplanner.method.queries.kind import Kind, answered_jointly
from residualplanner.method.workload.attribute_sets import indices_of_numbers, row_numbers
from residualplanner.release.devices import HOST, Device
from residualplanner.release.reference_answers import reference_answers

#: How many cells are computed at a time, so that they stay in the processor's cache, but calls are few.
BATCH_CELLS = 2**17
#: How many maps are kept for the next tables of the same bases and kinds; and groups of answers, however small.
_KEPT = 4096
#: A kind with more answers than this many for each value is applied after the values have been rebuilt.
_MANY = 2


#: Tables of the same bases and kinds: the numbers of their queries among those given, ascending, (b,); the kind of
#: query on each attribute, (k,); and the estimates (b, q_1, .., q_k) in counts, read-only where they are on the host.
Stack = tuple[NDArray[np.int64], tuple[Kind, ...], Array]


class Reconstructor:
    """Reconstructs tables from the residual answers of a measurement, on a device."""

    def __init__(self, measurement: NoisyAnswers, device: Device = HOST) -> None:
        self.device = device
        self._closure = measurement.plan.closure
        residuals = reference_answers(measurement, device)
        self._groups, self._answers = residuals.groups, DeviceAnswers(residuals, device)
        self._bases = measurement.plan.strategy.of_attributes
        self._codes = basis_codes(self._bases)
        # Kept with the object, not with the module: maps hold the matrices of one plan's bases.
        axis_map = cache(lambda code, kind: reconstruction_map(self._bases[int(np.argmax(self._codes == code))], kind))
        self._table_map = lru_cache(_KEPT)(lambda *pairs: ProductMap([axis_map(*pair) for pair in pairs]))

    def stacks(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind], scratch: Scratch
    ) -> Iterator[Stack]:
        """The tables of some queries of one order, stacked by bases and kinds: rows in order, each once.

        ``attributes`` (m, k) are sets of the closure, ascending; ``kinds`` (m, k) are indices into ``names``, which the
        bases span.

        Source: eqs. (10), (13), (25) and (58).
        """
        trivial = self._closure.trivial[attributes]
        for pattern in np.unique(trivial, axis=0) if trivial.any() else trivial[:1]:
            rows = np.flatnonzero((trivial == pattern).all(axis=1))  # of queries with the same trivial axes
            codes, subsets = kinds[rows], self._closure.subset_positions(attributes[rows][:, ~pattern])
            group, row = self._groups.group[subsets], self._groups.row[subsets]
            largest = group[:, -1]
            number = largest if (codes == codes[:1]).all() else row_numbers(np.column_stack([largest, codes]))
            for same in indices_of_numbers(number):
                numbers, first = group[same[0]].tolist(), same[0]
                divisors = [self._answers.divisor(number) for number in numbers]
                chosen = tuple(names[code] for code in codes[first].tolist())
                maps = self._table_map(*zip(self._codes[attributes[rows[first]]].tolist(), chosen, strict=True))
                cells = max(math.prod(maps.columns), math.prod(maps.rows))
                pieces = max(1, min(len(same), round(len(same) * cells / (BATCH_CELLS * self.device.batch_factor))))
                for part in np.array_split(same, pieces):
                    blocks, of_part = self._answers.blocks(numbers, row[part])
                    tables = self.device.tables(blocks, of_part, divisors=divisors, maps=maps, scratch=scratch)
                    yield rows[part], chosen, read_only(answered_jointly(tables, chosen, first_axis=1))


#: The bytes of an answer on a device.
_BYTES = 8


class DeviceAnswers:
    """Noisy answers, and nothing else, on a device, in memory of bounded size.

    The groups of fewest answers are kept there, from their first use on, as many as fit into the device's ``memory``;
    of the others the answers that a batch needs are sent with it.
    """

    def __init__(self, residuals: Residuals, device: Device) -> None:
        remedy = "only noisy answers go to a device; give the residuals of a Measurement"
        require_type("DeviceAnswers", "residuals", residuals, Residuals, remedy)
        self._residuals, self._device = residuals, device
        sizes = np.diff(residuals.starts)
        by_size = np.argsort(sizes, kind="stable")
        self._is_kept = np.zeros(len(sizes), dtype=np.bool_)
        self._is_kept[by_size] = np.cumsum(sizes[by_size]) <= device.memory // _BYTES
        self._numbers = lru_cache(_KEPT)(self._new_numbers)
        self._kept = lru_cache(_KEPT)(lambda group: device.put(self._numbers(group)))

    def divisor(self, group: int) -> int:
        """What the numbers of a group are to be divided by."""
        # Floats are the answers themselves.
        return self._residuals.divisor(group) if self._numbers(group).dtype == np.int64 else 1

    def blocks(self, groups: Sequence[int], rows: NDArray[np.int64]) -> tuple[list[Array], NDArray[np.int64]]:
        """Blocks (g, m_1, .., m_k) of groups on the device, and which of their rows are meant, (b, j).

        Groups (j,) are those that tables need, in the order of `tables_of_residuals`, and ``rows`` (b, j) theirs.
        """
        if self._is_kept[groups].all():
            return [self._kept(group) for group in groups], rows
        found, chosen = [], rows.copy()
        for number, group in enumerate(groups):
            if self._is_kept[group]:
                found.append(self._kept(group))
            else:
                found.append(self._device.put(self._numbers(group)[rows[:, number]]))
                chosen[:, number] = np.arange(len(rows))
        return found, chosen

    def _new_numbers(self, group: int) -> NDArray[np.int64] | NDArray[np.float64]:
        """The numbers of a group, int64 or, where int64 cannot hold them, the answers as floats, rounded once."""
        stored = self._residuals.stored(group)
        return self._residuals.block(group) if stored.dtype == np.object_ else stored


def reconstruction_map(basis: Basis, kind: Kind) -> AxisMap:
    """The map from the total and the residual answers of one attribute to the answers of a kind of query.

    Its matrix is ``W [u | G]`` (q, 1 + m).  Where W has many rows, or the values follow from the answers in O(n), the
    values are rebuilt first, ``[u | G]``, and W is applied to them in its own fast way.

    Source: eqs. (13) and (25).
    """
    values = basis.reconstruction
    if kind.is_identity:
        return values
    rows = kind.rows(basis.size)

    def make_matrix() -> NDArray[np.float64]:
        return kind.apply(values.matrix, 0)

    if values.direct is None and rows <= _MANY * basis.size:
        return AxisMap(values.columns, rows, make_matrix)

    def direct(stack: Array, target: Array) -> None:
        rebuilt = empty_floats((stack.shape[0], stack.shape[2], basis.size), stack)
        values.turn(stack, rebuilt)
        target[...] = kind.apply(rebuilt, 2)

    return AxisMap(values.columns, rows, make_matrix, direct)


def components_of_answers(bases: Sequence[Basis]) -> ProductMap:
    """The map from the residual answers of a set to its components: the least noise that gives these answers.

    With subtraction bases these are a table whose sum along every axis is 0; else the answers.  Source: eq. (48).
    """
    maps = (rebuilding_differences(each.size) if each.takes_differences else keeping(each.answers) for each in bases)
    return ProductMap([*maps])

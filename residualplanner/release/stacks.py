"""Tables from residual answers, many of the same bases and kinds of query at a time, on the host or on a device.

Nothing loops over tables.
"""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.method.bases.basis import basis_codes
from residualplanner.method.kron import Array, AxisMap, ProductMap, Scratch, read_only
from residualplanner.method.queries.joint import answered_jointly
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.attribute_sets import indices_of_numbers, row_numbers
from residualplanner.release.device_answers import DeviceAnswers
from residualplanner.release.devices import HOST, Device
from residualplanner.release.rebuilding import reconstruction_map
from residualplanner.release.reference_answers import reference_answers

#: How many cells are computed at a time, so that they stay in the processor's cache, but calls are few.
BATCH_CELLS = 2**17
#: How many maps are kept for the next tables of the same bases and kinds.
_KEPT = 4096


class Stack(NamedTuple):
    """Tables of the same bases and kinds."""

    rows: NDArray[np.int64]  # (b,): the numbers of their queries among those given, ascending
    kinds: tuple[Kind, ...]  # (k,): the kind of query on each attribute
    estimates: Array  # (b, q_1, .., q_k): in counts, on the device; read-only where that is the host


class Reconstructor:
    """Reconstructs tables from the residual answers of a measurement.

    Attributes:
        device: where they are computed.
    """

    def __init__(self, measurement: NoisyAnswers, device: Device = HOST) -> None:
        self.device = device
        self._closure = measurement.plan.closure
        residuals = reference_answers(measurement, device)
        self._groups, self._answers = residuals.groups, DeviceAnswers(residuals, device)
        self._bases = measurement.plan.strategy.of_attributes
        self._codes = basis_codes(self._bases)
        # Kept with the object, not with the module: maps hold the matrices of one plan's bases.
        self._axis_maps: dict[tuple[int, Kind], AxisMap] = {}
        self._table_map = lru_cache(_KEPT)(self._new_table_map)

    def stacks(
        self,
        attributes: NDArray[np.int32],
        kinds: NDArray[np.int16],
        names: Sequence[Kind],
        scratch: Scratch,
    ) -> Iterator[Stack]:
        """The tables of some queries of one order, stacked by bases and kinds.

        Args:
            attributes (m, k): sets of the closure, ascending; attributes of a single value may be among them.
            kinds (m, k): the kind of query on each attribute, as an index into ``names``.
            names: kinds of query that the bases of these attributes span.
            scratch: memory to work in.

        Yields:
            Rows of the same bases and kinds, in order; each row comes once.

        Source: eqs. (10), (13), (25) and (58).
        """
        trivial = self._closure.trivial[attributes]
        for pattern in _patterns(trivial):
            rows = np.flatnonzero((trivial == pattern).all(axis=1))
            yield from self._stacks_of_pattern(attributes[rows], kinds[rows], names, rows, scratch)

    def _stacks_of_pattern(
        self,
        attributes: NDArray[np.int32],
        kinds: NDArray[np.int16],
        names: Sequence[Kind],
        rows: NDArray[np.int64],
        scratch: Scratch,
    ) -> Iterator[Stack]:
        """The tables of queries that have attributes of a single value along the same axes."""
        kept = ~self._closure.trivial[attributes[0]]
        groups = self._groups
        subsets = self._closure.subset_positions(attributes[:, kept])
        group, row = groups.group[subsets], groups.row[subsets]
        for same in indices_of_numbers(_pair_numbers(group[:, -1], kinds)):
            numbers = group[same[0]].tolist()
            divisors = [self._answers.divisor(number) for number in numbers]
            chosen = tuple(names[code] for code in kinds[same[0]].tolist())
            maps = self._table_map(tuple(self._codes[attributes[same[0]]].tolist()), chosen)
            cells = max(math.prod(maps.columns), math.prod(maps.rows))
            pieces = max(1, min(len(same), round(len(same) * cells / (BATCH_CELLS * self.device.batch_factor))))
            for part in np.array_split(same, pieces):
                blocks, of_part = self._answers.blocks(numbers, row[part])
                tables = self.device.tables(blocks, of_part, divisors=divisors, maps=maps, scratch=scratch)
                yield Stack(rows[part], chosen, read_only(answered_jointly(tables, chosen, first_axis=1)))

    def _new_table_map(self, codes: tuple[int, ...], kinds: tuple[Kind, ...]) -> ProductMap:
        return ProductMap([self._axis_map(code, kind) for code, kind in zip(codes, kinds, strict=True)])

    def _axis_map(self, code: int, kind: Kind) -> AxisMap:
        if (code, kind) not in self._axis_maps:
            self._axis_maps[code, kind] = reconstruction_map(self._bases[int(np.argmax(self._codes == code))], kind)
        return self._axis_maps[code, kind]


def _pair_numbers(group: NDArray[np.int64], kinds: NDArray[np.int16]) -> NDArray[np.int64]:
    """A number for each row (m,), equal where both the ``group`` (m,) and all ``kinds`` (m, k) are."""
    if (kinds == kinds[:1]).all():
        return group
    return row_numbers(np.column_stack([group, kinds]))


def _patterns(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The distinct rows of ``flags`` (m, k)."""
    if not flags.any():
        return flags[:1]
    return np.unique(flags, axis=0)

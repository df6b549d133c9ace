"""Tables for the kernel's twin: answers drawn at random, shapes that reach every branch of the kernel."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.kernel_twin import Tables
from residualplanner.method.kron.axis_maps import AxisMap, keeping, matrix_map, rebuilding
from residualplanner.scale.cuda.launches import cut_layout

#: Rows of a block, which tables choose among.
_SETS = 5
#: Rounding of sums in another order, relative to the largest answer: a few units in the last place.
TOLERANCE = 1e-13


def of_matrix(rows: int, columns: int) -> AxisMap:
    """The map of a matrix drawn at random."""
    return matrix_map(np.random.default_rng(rows * 1000 + columns).uniform(-1, 1, (rows, columns)))


def tables_of(axes: Sequence[AxisMap], tables: int, *, bits: int = 40, seed: int = 0, **how: Any) -> Tables:
    """Tables whose answers are integers of up to so many bits, with a divisor of its own for each block."""
    chance = np.random.default_rng(seed)
    answers = [axis.columns - 1 for axis in axes if axis.columns > 1]
    shapes = [
        tuple(itertools.compress(answers, (subset >> number & 1 for number in range(len(answers)))))
        for subset in range(2 ** len(answers))
    ]
    return Tables(
        blocks=tuple(chance.integers(-(2**bits), 2**bits, (_SETS, *shape)) for shape in shapes),
        rows=chance.integers(0, _SETS, (tables, len(shapes))),
        axes=tuple(axes),
        divisors=tuple(chance.integers(1, 2**20, len(shapes)).tolist()),
        **how,
    )


def as_floats(tables: Tables) -> Tables:
    """The same tables from answers that are no integers in every other block."""
    floats = [block / 7 if number % 2 else block for number, block in enumerate(tables.blocks)]
    divisors = [1 if number % 2 else divisor for number, divisor in enumerate(tables.divisors)]
    return replace(tables, blocks=tuple(floats), divisors=tuple(divisors))


def far_away(tables: Tables) -> Tables:
    """The same tables as some of so many that positions among answers and cells are beyond 2**31 and 2**32."""
    first_rows = tuple(2**33 // max(1, math.prod(block.shape[1:])) + 1 for block in tables.blocks)
    slabs = cut_layout(tables.maps, tables.cut).slabs
    first_table = 2**29 // slabs * slabs
    return replace(tables, first_rows=first_rows, first_table=first_table)


def short_cases() -> list[Tables]:
    """Some tables for every branch of the kernel, of few cells, for sanitizers too."""
    wide, narrow = of_matrix(5, 3), of_matrix(2, 6)
    return [
        tables_of([], 3),
        tables_of([rebuilding(4)], 7),
        tables_of([rebuilding(2)], 700, threads=4),
        tables_of([rebuilding(3), rebuilding(5)], 150),
        tables_of([rebuilding(3), rebuilding(2), rebuilding(4)], 40, bits=60),
        tables_of([rebuilding(2), rebuilding(3), rebuilding(2), rebuilding(4), rebuilding(3)], 2),
        tables_of([wide, rebuilding(4)], 30),
        tables_of([rebuilding(4), wide, keeping(3)], 5),
        tables_of([narrow, wide], 9, backwards=True),
        tables_of([of_matrix(3, 1), rebuilding(3)], 6),
        tables_of([rebuilding(3), rebuilding(4), rebuilding(5)], 2, cut=1),
        tables_of([rebuilding(3), wide, narrow, rebuilding(2)], 2, cut=2),
        as_floats(tables_of([rebuilding(3), rebuilding(4)], 5)),
        far_away(tables_of([rebuilding(16), rebuilding(64)], 2)),
    ]


def long_cases() -> list[Tables]:
    """Tables of the sizes that real plans have, with as many threads as a launch has."""
    return [
        tables_of([rebuilding(10)] * 3, 5, threads=0),
        tables_of([rebuilding(8), rebuilding(16), rebuilding(32)], 3, threads=0),
        tables_of([rebuilding(30)] * 3, 1, threads=32),
        tables_of([rebuilding(1024)], 2, threads=0),
        tables_of([of_matrix(40, 20), rebuilding(10), of_matrix(8, 8)], 2, threads=32),
        tables_of([rebuilding(2)] * 10, 3, threads=0),
        tables_of([rebuilding(60), rebuilding(50), rebuilding(12)], 1, cut=1, threads=32),
        far_away(tables_of([rebuilding(32), rebuilding(32), rebuilding(2)], 1, threads=32, cut=1)),
    ]


def is_right(tables: Tables, found: np.ndarray[Any, Any]) -> bool:
    """Whether tables are those of NumPy's operations up to the rounding of sums."""
    largest = max(
        float(np.abs(block / divisor).max()) for block, divisor in zip(tables.blocks, tables.divisors, strict=True)
    )
    return bool((np.abs(found - tables.expected) <= TOLERANCE * largest * len(tables.blocks)).all())


Cases = Callable[[], list[Tables]]

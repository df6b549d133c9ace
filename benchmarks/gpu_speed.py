"""How fast tables are made on a GPU, beside what its memory and its bus can do; `benchmarks.gpu` runs it.

Speeds are in G cells a second, the best of some repetitions; a cell is 16 bytes of device memory traffic, 8 read and 8
written, and 8 bytes on the bus.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.kron.axis_maps import AxisMap, ProductMap, matrix_map, rebuilding, tables_of_residuals
from residualplanner.scale.cuda.fused import fused_tables

#: How far tables may be from NumPy's, relative to the largest answer.
_TOLERANCE = 1e-12
#: The batches that are copied to the host.
_BATCHES = 8
#: Tables of one problem, at most, and how often work is queued for one measurement, so that the device never waits.
_TABLES, _QUEUED = 2**18, 5


@dataclass(frozen=True)
class Problem:
    """Tables of one shape: all sets of some attributes of the same sizes, as a plan has them.

    Attributes:
        name: what it is called in the record.
        axes: the map of each axis.
        attributes: how many attributes there are to choose from.
    """

    name: str
    axes: tuple[AxisMap, ...]
    attributes: int = 100

    @property
    def maps(self) -> ProductMap:
        return ProductMap(self.axes)

    def tables(self, cells: int) -> int:
        """How many tables have about so many cells."""
        return min(_TABLES, max(1, cells // int(np.prod(self.maps.rows))))

    def answers(self, tables: int) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Blocks of integers, and the rows of them that each table has: sets in order, the lower orders shared."""
        chance, order = np.random.default_rng(0), len(self.axes)
        sets = list(itertools.islice(itertools.cycle(itertools.combinations(range(self.attributes), order)), tables))
        blocks, rows = [], []
        for subset in range(2**order):
            members = [axis for axis in range(order) if subset >> axis & 1]
            chosen = np.array(sets)[:, members]
            _, number = np.unique(chosen, axis=0, return_inverse=True)
            row = np.arange(tables) if len(members) == order else number.ravel()
            shape = (int(row.max()) + 1, *(self.axes[axis].columns - 1 for axis in members))
            blocks.append(chance.integers(-(2**40), 2**40, shape))
            rows.append(row)
        return blocks, np.stack(rows, axis=1).astype(np.int64)


def _matrix(rows: int, columns: int) -> AxisMap:
    return matrix_map(np.random.default_rng(rows).uniform(-1, 1, (rows, columns)))


#: The first is the one that the criteria are about.
PROBLEMS = (
    Problem("10 x 10 x 10", (rebuilding(10),) * 3),
    Problem("2 x 2 x 2", (rebuilding(2),) * 3),
    Problem("5 x 16 x 7", (rebuilding(5), rebuilding(16), rebuilding(7))),
    Problem("10 x 10", (rebuilding(10),) * 2, attributes=1000),
    Problem("30 x 30 x 30", (rebuilding(30),) * 3),
    Problem("100 x 100 x 100, cut", (rebuilding(100),) * 3),
    Problem("10 x 10 x 10, matrices", (_matrix(10, 10),) * 3),
)


class Bench:
    """The device and what is measured on it.

    Args:
        cupy: the module.
        cells: of the arrays, about.
        repeat: how often each measurement is made.
        problems: the tables; the criteria are about the first.
        fused: what makes them.
    """

    def __init__(
        self,
        cupy: Any,
        cells: int,
        repeat: int,
        *,
        problems: Sequence[Problem] = PROBLEMS,
        fused: Callable[..., Any] = fused_tables,
    ) -> None:
        self.cupy, self.cells, self.repeat, self.problems, self.fused = cupy, cells, repeat, problems, fused

    def seconds(self, work: Callable[[], object]) -> float:
        """The least seconds that ``work`` takes on the device, by its own clock, after one run that is not counted."""
        event, best = self.cupy.cuda.Event, float("inf")
        work()
        for _ in range(self.repeat):
            start, end = event(), event()
            start.record()
            for _ in range(_QUEUED):
                work()
            end.record()
            end.synchronize()
            best = min(best, self.cupy.cuda.get_elapsed_time(start, end) / 1000 / _QUEUED)
        return best

    def copy(self) -> float:
        """G cells a second of a copy within the device's memory."""
        source = self.cupy.zeros(self.cells)
        target = self.cupy.empty_like(source)
        return self.cells / self.seconds(lambda: self.cupy.copyto(target, source)) / 1e9

    def bus(self) -> float:
        """G cells a second of a copy to the host."""
        source, target = self.cupy.zeros(self.cells), self.pinned(self.cells)
        return self.cells / self.seconds(lambda: source.get(out=target, blocking=False)) / 1e9

    def tables(self, problem: Problem, make: Callable[..., Any], *, sends_rows: bool = False) -> float:
        """G cells a second of tables, their rows on the host if they are sent; ValueError if they are not NumPy's."""
        count = problem.tables(self.cells)
        on_host, rows = problem.answers(count)
        blocks = [self.cupy.asarray(block) for block in on_host]
        all_rows = rows if sends_rows else self.cupy.asarray(rows)
        divisors = [2**10 * 3] * len(blocks)

        def work(rows: Any = all_rows) -> Any:
            return make(blocks, rows, maps=problem.maps, divisors=divisors)

        some = rows[:: max(1, count // 50)]
        expected = tables_of_residuals(on_host, some, maps=problem.maps, divisors=divisors)
        found = self.cupy.asnumpy(work(some))
        if not np.abs(found - expected).max() <= _TOLERANCE * 2**40 / divisors[0] * len(blocks):
            raise ValueError(f"tables of {problem.name} are not those of NumPy")
        return count * int(np.prod(problem.maps.rows)) / self.seconds(work) / 1e9

    def to_host(self, problem: Problem) -> tuple[float, float]:
        """G cells a second of tables that go to the host, and what they take of the device's memory beyond two batches.

        The second figure is relative to two batches: 1 is exactly these.
        """
        count = problem.tables(self.cells // _BATCHES)
        on_host, rows = problem.answers(count)
        blocks, on_device = [self.cupy.asarray(block) for block in on_host], self.cupy.asarray(rows)
        size = count * int(np.prod(problem.maps.rows))
        targets = [self.pinned(size), self.pinned(size)]
        streams = [self.cupy.cuda.Stream(non_blocking=True) for _ in targets]
        pool = self.cupy.get_default_memory_pool()

        def work() -> None:
            self._after_another(self.cupy.cuda.get_current_stream(), streams)
            for number in range(_BATCHES):
                with streams[number % 2]:
                    made = fused_tables(blocks, on_device, maps=problem.maps, divisors=[3] * len(blocks))
                    made.reshape(-1).get(out=targets[number % 2], blocking=False)
                    del made  # its memory is used again in the order of this stream, so after it has been copied
            for stream in streams:
                self._after_another(stream, [self.cupy.cuda.get_current_stream()])

        pool.free_all_blocks()
        before = pool.total_bytes()
        speed = _BATCHES * size / self.seconds(work) / 1e9
        return speed, (pool.total_bytes() - before) / (2 * 8 * size)

    def _after_another(self, first: Any, streams: Sequence[Any]) -> None:
        """Let streams wait for what is queued in another one."""
        event = self.cupy.cuda.Event()
        event.record(first)
        for stream in streams:
            stream.wait_event(event)

    def pinned(self, numbers: int) -> NDArray[np.float64]:
        """Memory of the host that the system keeps in place."""
        memory = self.cupy.cuda.alloc_pinned_memory(8 * numbers)
        return np.frombuffer(memory, np.float64, numbers)

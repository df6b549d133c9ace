"""The fused kernel on the host: its source, built by an ordinary C++ compiler, with threads as a block of threads."""

import math
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.kron.axis_maps import AxisMap, ProductMap, tables_of_residuals
from residualplanner.scale.cuda.fused import KERNEL, kernel_source
from residualplanner.scale.cuda.launches import AXIS_THREADS, Pass, cut_layout, entries, launch_of

HERE = Path(__file__).parent
COMPILER = shutil.which("g++")
#: Where in the description the subsets stand: behind the header and three words for each axis.
HEADER, AXIS = 15, 3
PLAIN: tuple[str, ...] = ("-O1",)
LIBRARY = ("-O1", "-shared", "-fPIC")
THREAD_SANITIZER = ("-O1", "-g", "-fsanitize=thread")
ADDRESS_SANITIZER = (
    "-O1",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fno-sanitize=alignment",
)


class TwinError(Exception):
    """The kernel did on the host what it must not do; the message is that of the sanitizer."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Residual answers of tables, and how to run the kernel on them.

    Attributes:
        blocks (2**k,): as of `tables_of_residuals`.
        rows (b, 2**k): as of `tables_of_residuals`.
        axes: maps of the axes.
        divisors: of the blocks.
        threads: of a block; 0 for those of the launch.
        first_rows (2**k,): the numbers of the first rows of the blocks: those before them are not there.
        first_table: the number of the first table: those before it are not made.
        backwards: whether the last block of threads runs first.
        cut: along how many axes tables are cut.
    """

    blocks: tuple[NDArray[Any], ...]
    rows: NDArray[np.int64]
    axes: tuple[AxisMap, ...]
    divisors: tuple[int, ...]
    threads: int = 6
    first_rows: tuple[int, ...] = ()
    first_table: int = 0
    backwards: bool = False
    cut: int = 0

    @property
    def maps(self) -> ProductMap:
        return ProductMap(self.axes)

    @property
    def expected(self) -> NDArray[np.float64]:
        """What the present sequence of NumPy's operations gives."""
        return tables_of_residuals(self.blocks, self.rows, maps=self.maps, divisors=self.divisors)

    @property
    def words(self) -> bytes:
        """One launch, as the twin reads it."""
        layout = cut_layout(self.maps, self.cut)
        sources = [
            (0, divisor if block.dtype == np.int64 else 0)
            for block, divisor in zip(self.blocks, self.divisors, strict=True)
        ]
        launch = launch_of(layout, sources, len(self.rows))
        run = [
            *(self.threads or launch.threads, launch.blocks, launch.shared_bytes // 8),
            *(launch.slabs, self.first_table * layout.slabs_of_table, layout.slabs),
            *(len(self.rows), self.first_table, len(sources)),
            *(HEADER + AXIS * len(layout.columns), layout.estimates, len(launch.description)),
            *(len(layout.later_passes), self.backwards),
        ]
        first_rows = np.array(self.first_rows or [0] * len(self.blocks))
        parts = [np.array(run), launch.description]
        for block, first in zip(self.blocks, first_rows.tolist(), strict=True):
            answers = np.ascontiguousarray(block).ravel().view(np.int64)
            parts += [np.array([first * math.prod(block.shape[1:]), len(answers)]), answers]
        parts.append(self.rows + first_rows)
        for step in layout.later_passes:
            parts += _axis_run(step, len(self.rows), self.threads)
        return b"".join(part.astype(np.int64, casting="equiv").tobytes() for part in parts)


def _axis_run(step: Pass, tables: int, wanted: int) -> list[NDArray[np.int64]]:
    threads, matrix = wanted or AXIS_THREADS, entries(step)
    sizes = [step.axis.columns, step.axis.rows, step.inner, tables * step.outer]
    return [np.array([threads, -(-tables * step.lines // threads), matrix.size, *sizes]), matrix]


def run(program: Path, launches: Sequence[Tables]) -> list[NDArray[np.float64]]:
    """The tables of each launch; TwinError if a sanitizer or the twin itself saw a fault."""
    given = b"".join(tables.words for tables in launches)
    done = subprocess.run([program], input=given, capture_output=True, check=False, timeout=60)
    if done.returncode:
        raise TwinError(done.stderr.decode(errors="replace"))
    shapes = [(len(tables.rows), *tables.maps.rows) for tables in launches]
    found = np.split(np.frombuffer(done.stdout), np.cumsum([math.prod(shape) for shape in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(found, shapes, strict=True)]


def build(folder: Path, source: str | None = None, options: Sequence[str] = PLAIN) -> Path:
    """Build the twin of a kernel's source, the one that is shipped by default, and say where the program is."""
    folder.mkdir(exist_ok=True)
    kernel, program = folder / f"{KERNEL}.cu", folder / "twin"
    kernel.write_text(kernel_source() if source is None else source)
    subprocess.run(
        [
            *(COMPILER or "g++", "-std=c++20", "-pthread", "-Wall", "-Wno-unknown-pragmas", *options),
            *(f'-DKERNEL="{kernel}"', f"-I{HERE}", str(HERE / "twin.cpp"), "-o", str(program)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return program

"""Faults planted in the source of the fused kernel, each of which the checks of its twin on the host must find.

    python -m benchmarks.kernel_faults [--only WORD] [--json FILE]

Each fault is an edit of one piece of `residualplanner/scale/cuda/fused_tables.cu`.  The source with the edit is built
by
g++ with threads as a block of threads, and looked at in three ways: the tables are compared with those of NumPy's
operations, ThreadSanitizer looks for races, and AddressSanitizer for slips in memory.  Prints what each says; exits
with 1 if a fault is found by none, or the source as it is shipped by any, and with 2 without g++.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kernel_twin import COMPILER
from benchmarks.kernel_twin.checks import CHECKS
from residualplanner.scale.cuda.fused import kernel_source


@dataclass(frozen=True)
class Fault:
    """An edit of the source.

    Attributes:
        what: the mistake, in a few words.
        before: a piece of the source that it has once.
        after: what takes its place.
    """

    what: str
    before: str
    after: str

    def planted(self, source: str) -> str:
        """The source with this mistake."""
        if source.count(self.before) != 1:
            raise ValueError(
                f"{self.before!r} must be in the source once, it is there {source.count(self.before)} times"
            )
        return source.replace(self.before, self.after)


BARRIER = "    __syncthreads();\n"
FAULTS = (
    Fault("no barrier before sources are read", BARRIER + "    switch", "    switch"),
    Fault("no barrier before axes are mapped", BARRIER + "    for (Word left", "    for (Word left"),
    Fault("no barrier after an axis", "    " + BARRIER + "    }\n    scatter", "    }\n    scatter"),
    Fault("a barrier only behind a matrix", "        }\n    " + BARRIER, "    " + BARRIER + "        }\n"),
    Fault("divisor left out", "(double)answer / source.divisor", "(double)answer"),
    Fault("divisor of another subset", "as_double(found[DIVISOR])", "as_double((found - chosen * SUBSET)[DIVISOR])"),
    Fault("answers cut off at 32 bits", "(double)answer / source", "(double)(int)answer / source"),
    Fault("positions cut off at 32 bits", "const Word position =", "const int position ="),
    Fault("slabs counted in 32 bits", "first = (Word)blockIdx.x * together", "first = blockIdx.x * (unsigned)together"),
    Fault("floating-point answers read as integers", "source.divisor == 0.0 ?", "source.divisor < 0.0 ?"),
    Fault("bits of subsets counted by axis", "subset |= bit[axis];", "subset |= 1u << axis;"),
    Fault("bits of cut axes not taken off", "described[BIT] >> description[CUT_BITS]", "described[BIT]"),
    Fault(
        "answers start one too late",
        "number += (coordinate - 1) * answers;\n" + " " * 20,
        "number += coordinate * answers;",
    ),
    Fault("answers as far apart as values", "answers *= length[axis] - 1", "answers *= length[axis]"),
    Fault("axes in the wrong order", "inverse[axis - 1]", "inverse[axes - 1 - axis]"),
    Fault("number of the table not divided", "        slab = above;", "        slab = slab;"),
    Fault(
        "the last value is not added",
        "column < columns; ++column)\n        sum +=",
        "column + 1 < columns; ++column)\n        sum +=",
    ),
    Fault("mean over one value too few", "sum / columns", "sum / (columns - 1)"),
    Fault("the first value is not the mean", "    *line = first;\n    for", "    for"),
    Fault("values of a line one too far apart", "*(number += step)", "*(number += step + 1)"),
    Fault("matrix not transposed", "matrix += row;", "matrix += row * columns;"),
    Fault(
        "both tensors in one memory", "*other = memory + description[OTHER]", "*other = memory + description[TENSOR]"
    ),
    Fault("tensors not exchanged after an axis", "            tensor = mapped;\n", ""),
    Fault("tensor over the sources", "memory + description[TENSOR], *other", "memory, *other"),
    Fault("padding written out", "tensor[row * pitch + (cell - row * last)]", "tensor[cell]"),
    Fault("padding read from the answers", "if (coordinate < length[axes - 1])", "if (coordinate < pitch)"),
    Fault("quotients one too small", "(2u * number) * inverse", "(2u * number) * (inverse - 1ull)"),
    Fault("the last block not shortened", "slabs - first < together ? slabs - first : together", "together"),
    Fault(
        "two threads write one cell", "estimates[cell] = ", "estimates[cell > 0 ? cell - 1 : 0] = estimates[cell] = "
    ),
    Fault("too many threads map lines", "if (number < outer * inner)", "if (number >= 0)"),
    Fault(
        "axes in device memory taken for the last",
        "number / inner * columns * inner + number % inner",
        "number * columns",
    ),
)


def objections(fault: Fault | None, folder: Path) -> dict[str, str]:
    """What each check says of the source with a fault, or of the source as it is shipped."""
    source = kernel_source() if fault is None else fault.planted(kernel_source())
    return {check.name: check.objection(folder, source) for check in CHECKS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="faults that have this in their description")
    parser.add_argument("--json", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    if COMPILER is None:
        print("the twin of the kernel needs g++; install it, for example by apt-get install g++", file=sys.stderr)
        return 2
    table: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for fault in (None, *FAULTS):
            what = "none: as it is shipped" if fault is None else fault.what
            if fault is None or arguments.only in what:
                table[what] = objections(fault, Path(folder))
                said = "; ".join(f"{name}: {words}" for name, words in table[what].items() if words)
                print(f"{what:<42}{said}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1) + "\n")
    (shipped, *found) = [any(said.values()) for said in table.values()]
    print(f"{sum(found)} of {len(found)} faults found")
    return 0 if all(found) and not shipped else 1


if __name__ == "__main__":
    sys.exit(main())

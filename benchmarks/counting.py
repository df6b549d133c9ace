"""How long counting very many tables takes: as the library does, and each table by itself, in one run.

    python -m benchmarks.counting [--records 1000000] [--attributes 50] [--fraction 1.0] [--json FILE]

All tables of three attributes of ten values.  Seconds are the processor's.  `counted_by_themselves` is a copy of how
the library counted until it summed tables from larger ones.  With a smaller ``--fraction`` only so many tables are
counted that way, and the time is scaled.  Exits with 1 if a count differs.
"""

import argparse
import json
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.counting import CountedTables

SIZE = 10
#: How many records are counted at a time, so that they stay in the processor's cache.
BLOCK = 2**16


def measured(records: int, attributes: int, fraction: float) -> dict[str, float]:
    """Seconds for all tables both ways, their ratio, and whether all counts are equal."""
    codes = np.random.default_rng(1).integers(0, SIZE, (attributes, records)).astype(np.uint8)
    rows = np.array(list(combinations(range(attributes), 3)))
    start = time.process_time()
    counts = CountedTables((SIZE,) * attributes, [rows])
    counts.add(codes, None)
    library = time.process_time() - start
    few = rows[: max(1, int(len(rows) * fraction))]
    start = time.process_time()
    own = counted_by_themselves(codes, few)
    alone = (time.process_time() - start) * len(rows) / len(few)
    is_equal = bool((counts.tables[0][: len(few)] == own).all())
    return {"tables": len(rows), "library": library, "alone": alone, "ratio": alone / library, "is_equal": is_equal}


def counted_by_themselves(codes: NDArray[np.uint8], rows: NDArray[Any]) -> NDArray[np.int64]:
    """Tables over three attributes each, (m, 10, 10, 10), with one addition and one count per record and table."""
    found = np.zeros((len(rows), SIZE, SIZE, SIZE), dtype=np.int64)
    for start in range(0, codes.shape[1], BLOCK):
        _add_tables(codes[:, start : start + BLOCK], rows, found.reshape(len(rows), -1))
    return found


def _add_tables(codes: NDArray[np.uint8], rows: NDArray[Any], tables: NDArray[np.int64]) -> None:
    """Add the counts of one block of records; the cells of a row's first attributes are kept for the rows after it."""
    leading: list[NDArray[np.int64]] = []
    previous: list[int] = []
    for row, table in zip(rows.tolist(), tables, strict=True):
        common = 0
        while common < len(previous) and row[common] == previous[common]:
            common += 1
        del leading[common:]
        for j in range(common, 2):
            column = codes[row[j]].astype(np.int64)
            leading.append((column if j == 0 else leading[-1] + column) * SIZE)
        np.add(table, np.bincount(leading[-1] + codes[row[-1]], minlength=table.size), out=table)
        previous = row[:-1]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--fraction", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    row = measured(options.records, options.attributes, options.fraction)
    print(f"{row['tables']:,} tables of {options.records:,} records: {row['library']:.1f} s of the processor; ")
    print(f"each by itself {row['alone']:.1f} s, {row['ratio']:.2f} times as long; equal counts: {row['is_equal']}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=1) + "\n")
    if not row["is_equal"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

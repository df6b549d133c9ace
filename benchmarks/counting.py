"""How long counting very many tables takes: summed from larger tables, and each by itself, in one run.

    python -m benchmarks.counting [--records 1000000] [--attributes 50] [--fraction 0.1] [--json FILE]

All tables of three attributes of ten values.  Seconds are the processor's.  Of the tables that are counted each by
itself only a fraction is, since all would take minutes; its time is scaled.  Exits with 1 if a count differs.
"""

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from residualplanner.sources import counting
from residualplanner.sources.counting import Counts, count_groups

SIZE = 10


def measured(records: int, attributes: int, fraction: float) -> dict[str, float]:
    """Seconds for all tables both ways, their ratio, and whether all counts are equal."""
    codes = np.random.default_rng(1).integers(0, SIZE, (attributes, records)).astype(np.uint8)
    rows = np.array(list(combinations(range(attributes), 3)))
    sizes = (SIZE,) * attributes
    start = time.process_time()
    counts = Counts(sizes, [rows])
    counts.add(codes)
    summed = time.process_time() - start
    few = rows[: max(1, int(len(rows) * fraction))]
    counting.may_be_worth_it = lambda *_: False  # type: ignore[assignment]  # each by itself
    start = time.process_time()
    (own,) = count_groups(codes, sizes, [few])
    alone = (time.process_time() - start) * len(rows) / len(few)
    is_equal = bool((counts.tables[0][: len(few)] == own).all())
    return {"tables": len(rows), "summed": summed, "alone": alone, "ratio": alone / summed, "is_equal": is_equal}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--fraction", type=float, default=0.1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    row = measured(options.records, options.attributes, options.fraction)
    print(f"{row['tables']:,} tables of {options.records:,} records: summed from larger ones {row['summed']:.1f} s, ")
    print(f"each by itself {row['alone']:.1f} s, {row['ratio']:.2f} times as long; equal counts: {row['is_equal']}")
    if options.json:
        options.json.write_text(json.dumps(row, indent=1) + "\n")
    if not row["is_equal"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""The memory that `resource_estimate` and the check before the charge state, beside what measuring takes.

    python -m benchmarks.measuring_memory [--attributes 50 100] [--memory 0 0.25] [--scratch DIR] [--json FILE]

All tables of up to three attributes of ten values each, 10,000 records; ``--memory`` is in GiB, 0 for all at once.
Each case runs in a process of its own.  Measured is the most memory that is no file's while `measure` runs, less what
there was before: records and plan.  With up to 50 attributes the counts of all blocks are compared, bit for bit, with
those of all sets at once.  Exits with 1 if an estimate is off by more than 15%, or a count differs.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.processes import anonymous_bytes
from benchmarks.watched import Watched
from residualplanner.gate.measurement.blocks import blocks_within, measuring_bytes
from residualplanner.gate.measurement.counting import count_tables, parents
from residualplanner.gate.sources.opening import open_source
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import basis_groups

SIZE, RECORDS, MOST_OFF = 10, 10_000, 0.15
#: Up to so many attributes all counts are compared.
COMPARED = 50


def measured(attributes: int, memory: int | None, scratch: Path | None) -> dict[str, Any]:
    """Estimate and measurement of one case, in this process."""
    domain = rp.Domain({f"a{number}": SIZE for number in range(attributes)})
    plan = rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp(0.5))
    records = np.random.default_rng(1).integers(0, SIZE, (RECORDS, attributes))
    estimate = plan.resource_estimate(records=RECORDS, memory=memory).measuring_bytes
    checked = measuring_bytes(basis_groups(plan.strategy), memory)
    before = anonymous_bytes()
    with Watched() as watched:
        rp.measure(plan, records, memory=memory, scratch=scratch)
    row = {"attributes": attributes, "memory": memory, "estimate": estimate, "checked": checked}
    row |= {"measured": watched.memory - before, "cpu": watched.cpu}
    if memory is not None and attributes <= COMPARED:
        row["counts_are_equal"] = _counts_are_equal(plan, records, memory)
    return row


def _counts_are_equal(plan: Plan, records: np.ndarray, memory: int) -> bool:
    """Whether the counts of all blocks are those of all sets at once."""
    source, groups, family = open_source(records, plan.domain), basis_groups(plan.strategy), parents(plan.closure)
    whole = count_tables(source, plan.closure, groups, family)
    for block in blocks_within(groups, family, memory):
        tables = count_tables(source, plan.closure, block.groups, family)
        for table, number, rows in zip(tables, block.numbers, block.rows, strict=True):
            if not np.array_equal(table, whole[number][rows]):
                return False
    return True


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--memory", type=float, nargs="+", default=[0, 0.25])
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("--json", type=Path, help="the rows are added to those that the file has of other cases")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    cases = [(number, int(size * 2**30) or None) for number in options.attributes for size in options.memory]
    if options.one:
        print(json.dumps(measured(*cases[0], options.scratch)))
        return 0
    rows = [_row(*case, options.scratch) for case in cases]
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else []
        others = [row for row in known if (row["attributes"], row["memory"]) not in cases]
        every = sorted(others + rows, key=lambda row: (row["attributes"], row["memory"] or 0))
        options.json.write_text(json.dumps(every, indent=1) + "\n")
    return int(any(row["is_off"] for row in rows))


def _row(attributes: int, memory: int | None, scratch: Path | None) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.measuring_memory", "--one", "--attributes", str(attributes)]
    command += ["--memory", str((memory or 0) / 2**30), *(["--scratch", str(scratch)] if scratch else [])]
    row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    off = max(abs(row[name] / row["measured"] - 1) for name in ("estimate", "checked"))
    row["is_off"] = off > MOST_OFF or row.get("counts_are_equal") is False
    words = "all at once" if memory is None else f"memory={memory / 2**30:.2f} GiB"
    print(
        f"{attributes} attributes, {words}: estimate {row['estimate'] / 2**20:,.0f}, checked "
        f"{row['checked'] / 2**20:,.0f}, measured {row['measured'] / 2**20:,.0f} MiB, off by {off:.1%}; "
        f"{row['cpu']:.1f} CPU s{'; counts are equal' if row.get('counts_are_equal') else ''}"
        f"{'  OFF' if row['is_off'] else ''}",
        flush=True,
    )
    return dict(row)


if __name__ == "__main__":
    sys.exit(main())

"""How long the cases of `benchmarks.speed` take in two checkouts of this library, run in turn.

    python -m benchmarks.before_and_after BEFORE AFTER [--runs 5] [--only NAME ...] [--json FILE]

BEFORE and AFTER are folders, such as two of `git worktree add`; each runs its own copy of the cases.  A run is a
process in which a case is repeated for a second, and counts with the least time: that of the processor, child processes
included, so that whatever else the machine does is of little weight.  The ratios are of runs that followed each other;
which of the two checkouts is first changes from run to run.  Exits with 1 if a median ratio is above 1.05.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.speed import ONE_CORE

MOST = 1.05
HEADER = f"{'case':<38}{'before s':>10}{'after s':>10}{'ratio':>8}{'least':>8}{'most':>8}"

#: What a process does: the cases take the time from `perf_counter`, which here is that of the processor.
_ONE_RUN = """
import json, resource, sys, time
def processor_seconds():
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
time.perf_counter = processor_seconds
from benchmarks.speed_cases import CASES
start, found = processor_seconds(), []
while not found or (processor_seconds() - start < 1 and len(found) < 100):
    found.append(CASES[sys.argv[1]]().seconds)
print(json.dumps(min(found)))
"""
_NAMES = "import json; from benchmarks.speed_cases import CASES; print(json.dumps(list(CASES)))"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a case took.

    Attributes:
        case: its name.
        before: seconds of the processor, one for each run.
        after: the same in the other checkout.
    """

    case: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """After by before, run by run."""
        return [after / before for before, after in zip(self.before, self.after, strict=True)]

    def __str__(self) -> str:
        ratios = self.ratios
        return (
            f"{self.case:<38}{median(self.before):>10.4f}{median(self.after):>10.4f}"
            f"{median(ratios):>8.3f}{min(ratios):>8.3f}{max(ratios):>8.3f}"
        )


def compared(case: str, before: Path, after: Path, runs: int) -> Comparison:
    """Run a case in both checkouts in turn."""
    seconds: dict[Path, list[float]] = {before: [], after: []}
    for run in range(runs):
        for checkout in (before, after) if run % 2 == 0 else (after, before):
            seconds[checkout].append(float(_said(checkout, _ONE_RUN, case)))
    return Comparison(case, tuple(seconds[before]), tuple(seconds[after]))


def cases_of_both(before: Path, after: Path) -> list[str]:
    """The names of the cases that both checkouts have."""
    first, second = (json.loads(_said(checkout, _NAMES)) for checkout in (before, after))
    return [name for name in second if name in first]


def _said(checkout: Path, program: str, *arguments: str) -> str:
    """What a program prints that runs on one core with the code of a checkout."""
    environment = {**os.environ, **ONE_CORE, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{checkout} failed:\n{done.stderr}")
    return done.stdout.splitlines()[-1]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="the names of some cases")
    parser.add_argument("--json", type=Path, help="also write all seconds to this file")
    options = parser.parse_args(arguments)
    before, after = options.before.resolve(strict=True), options.after.resolve(strict=True)
    if before == after:
        parser.error("the two checkouts must be different folders")
    cases = cases_of_both(before, after)  # also compiles both, so that no run does
    print(HEADER)
    results = []
    for case in options.only or cases:
        results.append(compared(case, before, after, options.runs))
        print(results[-1], flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    slower = [result.case for result in results if median(result.ratios) > MOST]
    if slower:
        raise SystemExit(f"above {MOST}: {'; '.join(slower)}")


if __name__ == "__main__":
    main()

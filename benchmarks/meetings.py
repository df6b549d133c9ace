"""Every three features meet: a case for each triple of values of the factors of ``tests/meetings``.

``python -m benchmarks.meetings`` runs what has not been run, with some processes, and prints how many cases there are
and what was found; a run that is stopped goes on from where it was.  ``--case '{...}'`` runs one case alone, written as
messages show it.
"""

import argparse
import ast
import json
import multiprocessing
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from meetings.covering import Covering
from meetings.factors import FACTORS, PLAIN, Case
from meetings.one_case import check
from meetings.refusals import rule_of


def main() -> None:
    """Run all cases that a file does not have yet, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", help="the values of one case that are not the first ones, as a mapping")
    parser.add_argument("--strength", type=int, default=3, choices=(2, 3))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--done", type=Path, default=Path("meetings.jsonl"), help="a line for each case that was run")
    chosen = parser.parse_args()
    if chosen.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            check(Case(PLAIN | ast.literal_eval(chosen.case)), Path(folder))
        print("holds")
        return
    _run_all(chosen.strength, chosen.processes, chosen.done)


def _run_all(strength: int, processes: int, done: Path) -> None:
    rows = list(Covering({factor: list(values) for factor, values in FACTORS.items()}, rule_of).rows(strength))
    known = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    have = {json.dumps(found["row"]) for found in known}
    missing = [row for row in rows if json.dumps(row) not in have]
    print(f"{len(rows):,} cases cover {strength} factors at a time; {len(missing):,} are still to be run", flush=True)
    with done.open("a") as file, multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=100) as pool:
        for found in pool.imap_unordered(outcome, missing):
            file.write(json.dumps(found) + "\n")
            file.flush()
            known.append(found)
            if found["error"]:
                print(f"{found['error']}\n    {Case(found['row'])}", flush=True)
    failed = sum(bool(found["error"]) for found in known)
    print(f"{len(known):,} cases were run, {failed:,} of them failed; {done} has them")


def outcome(row: dict[str, str]) -> dict[str, Any]:
    """What became of a case: the words of its error, or none."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(Case(row), Path(folder))
        except Exception as error:  # noqa: BLE001 - whatever is raised is what is looked for
            where = traceback.extract_tb(error.__traceback__)[-1]
            return {
                "row": row,
                "error": f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})",
            }
    return {"row": row, "error": ""}


if __name__ == "__main__":
    main()

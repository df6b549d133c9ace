"""Every three features meet: a case for each triple of values of the factors of ``tests/meetings``.

``python -m benchmarks.meetings`` runs what has not been run, with some processes, and prints how many cases there are
and what was found; a run that is stopped goes on from where it was.  ``--seed`` draws other rows that cover the same.
``--case '{...}'`` runs one case alone, written as messages show it.  Pictures take half of the time: ``--pictures 5``
draws them in a fifth of the cases.
"""

import argparse
import ast
import json
import multiprocessing
import sys
import tempfile
import traceback
import warnings
import zlib
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from meetings.covering import Covering
from meetings.factors import FACTORS, PLAIN, Case
from meetings.one_case import check
from meetings.refusals import rule_of

_NO_PICTURE = '<svg width="1" height="1"></svg>'


def main() -> None:
    """Run all cases that a file does not have yet, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", help="the values of one case that are not the first ones, as a mapping")
    parser.add_argument("--strength", type=int, default=3, choices=(2, 3))
    parser.add_argument("--seed", type=int, default=0, help="which rows cover them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--done", type=Path, default=Path("meetings.jsonl"), help="a line for each case that was run")
    parser.add_argument("--pictures", type=int, default=1, help="draw the pictures of one case among so many")
    chosen = parser.parse_args()
    if chosen.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            check(Case(PLAIN | ast.literal_eval(chosen.case)), Path(folder))
        print("holds")
        return
    _run_all(chosen)


def _run_all(chosen: argparse.Namespace) -> None:
    covering = Covering({factor: list(values) for factor, values in FACTORS.items()}, rule_of)
    rows, done = list(covering.rows(chosen.strength, chosen.seed)), chosen.done
    known = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
    have = {json.dumps(found["row"]) for found in known}
    missing = [row for row in rows if json.dumps(row) not in have]
    print(f"{len(rows):,} cases cover {chosen.strength} factors; {len(missing):,} are still to be run", flush=True)
    context = multiprocessing.get_context("spawn")
    with done.open("a") as file, context.Pool(chosen.processes, maxtasksperchild=100) as pool:
        for found in pool.imap_unordered(partial(outcome, pictures=chosen.pictures), missing):
            file.write(json.dumps(found) + "\n")
            file.flush()
            known.append(found)
            if found["error"]:
                print(f"{found['error']}\n    {Case(found['row'])}", flush=True)
    failed = sum(bool(found["error"]) for found in known)
    print(f"{len(known):,} cases were run, {failed:,} of them failed; {done} has them")


def outcome(row: dict[str, str], *, pictures: int) -> dict[str, Any]:
    """What became of a case: the words of its error, or none."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        if zlib.crc32(json.dumps(row).encode()) % pictures:
            for room in ("figures", "estimates"):
                stack.enter_context(patch(f"residualplanner.publish.report.{room}.svg_of", lambda _: _NO_PICTURE))
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

"""Records of peers' mechanisms, AIM and MST of dpmm, on Adult, salary and titanic.

    python -m benchmarks.peer_records --python PYTHON [--data FOLDER] [--only NAME:MECHANISM:EPSILON ...]
        [--seeds 3] [--limit SECONDS] [--json FILE]

PYTHON is an interpreter with ``pip install dpmm==0.1.9``, which needs an older NumPy than ours; FOLDER holds
``salary/`` and ``titanic/`` as the repository's test data do, Adult ships with the package.  For each data set,
mechanism, epsilon (delta is 1e-9) and seed: the mean total variation of all tables of two and of three attributes, the
largest error of a cell, seconds of the processor and memory.  A run beyond the limit is stopped, and said to be.
Results are added to those in the file, run by run.

    python -m benchmarks.peer_records --compare benchmarks/results/synthesis.json --json FILE

prints ours, from `benchmarks.synthesis`, beside those in the file.
"""

import argparse
import json
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.nonnegative import adult_codes, salary_codes
from benchmarks.record_errors import Codes, errors_by_order

WORKER = Path(__file__).with_name("peer_worker.py")
EPSILONS = (0.1, 1.0, 10.0)
MECHANISMS = ("mst", "aim")
DELTA = 1e-9


def data_sets(folder: Path | None) -> Iterator[tuple[str, rp.Domain, Codes]]:
    """The name, domain and codes of Adult, and of what the folder has."""
    yield "adult", *adult_codes()
    for name in ("titanic", "salary") if folder else ():
        assert folder is not None
        yield name, *salary_codes(folder / name / f"{name}.csv")


def run(
    python: str,
    content: dict[str, Any],
    codes: Codes,
    limit: float,
    *,
    judged: Callable[[Codes], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """One run of a mechanism on codes (n, d), judged, by default by its errors of all tables."""
    with tempfile.TemporaryDirectory() as folder:
        records, job, made = (Path(folder) / name for name in ("records.npy", "job.json", "synthetic.npy"))
        np.save(records, codes)
        job.write_text(json.dumps(content | {"records": str(records)}))
        before = _seconds_of_children()
        try:
            done = subprocess.run(
                [python, str(WORKER), str(job), str(made)], check=True, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired as error:
            row = {"stopped_after": limit, "cpu": _seconds_of_children() - before}
            return row | {"came to": _last_line(error.stdout)}
        except subprocess.CalledProcessError as error:
            lines = [f"ended with {error.returncode}", *error.stderr.strip().splitlines()]
            return {"failed": lines[-1][:200]}
        measured = json.loads(done.stdout.strip().splitlines()[-1])
        synthetic = np.load(made)
        if judged is not None:
            return measured | judged(synthetic)
        return measured | {"errors": errors_by_order(codes, synthetic, content["sizes"])}


def _last_line(output: bytes | None) -> dict[str, Any] | None:
    """What a program that was stopped said last."""
    lines = (output or b"").decode().strip().splitlines()
    return json.loads(lines[-1]) if lines else None


def _seconds_of_children() -> float:
    """Seconds of the processor that all programs started here, and ended, have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compared(ours: dict[str, Any], peers: dict[str, Any]) -> Iterator[str]:
    """A row for each data set and epsilon: total variation of all triples (pairs), and CPU seconds, by mechanism."""
    yield "| data | epsilon | ours | ours, quick fit | AIM | MST | CPU s: ours, quick, AIM, MST | runs of AIM, MST |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, by_epsilon in ours["data"].items():
        for epsilon, plans in by_epsilon.items():
            own = [plans["synthesis_plan"], plans.get("quick", {})]
            spent = [f"{each['fit cpu s'] + each['records cpu s']:.3g}" if each else "-" for each in own]
            cells = [
                f"{each['controlled, 3-way']:.3f} ({each['controlled, 2-way']:.3f})" if each else "" for each in own
            ]
            runs: list[str] = []
            for mechanism in ("aim", "mst"):
                done = [run for case, run in peers.items() if case.startswith(f"{name}:{mechanism}:{epsilon}:")]
                whole = [run for run in done if "errors" in run]
                cells.append(_errors(whole) if whole else _words(done))
                spent.append(f"{np.mean([run['cpu'] for run in whole]):.3g}" if whole else "-")
                runs.append(str(len(whole)))
            if set(runs) == {"0"}:
                continue
            columns = [name.capitalize(), epsilon, *cells, ", ".join(spent), ", ".join(runs)]
            yield f"| {' | '.join(columns)} |"


def _errors(runs: list[dict[str, Any]]) -> str:
    triples, pairs = (np.mean([run["errors"][order]["total_variation"] for run in runs]) for order in ("3", "2"))
    return f"{triples:.3f} ({pairs:.3f})"


def _words(runs: list[dict[str, Any]]) -> str:
    """What is said where no run came to its end."""
    return f"stopped after {runs[0]['stopped_after']:g} s" if runs and "stopped_after" in runs[0] else "not run"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python")
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", default=[], help="NAME:MECHANISM:EPSILON")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=3600.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.compare:
        print("\n".join(compared(json.loads(arguments.compare.read_text()), _rows(arguments.json))))
        return
    if arguments.python is None:
        parser.error("give --python: an interpreter that has dpmm")
    data = {name: (domain, codes) for name, domain, codes in data_sets(arguments.data)}
    every = [f"{name}:{mechanism}:{epsilon:g}" for name in data for epsilon in EPSILONS for mechanism in MECHANISMS]
    for case, seed in product(arguments.only or every, range(arguments.seeds)):
        if f"{case}:{seed}" in _rows(arguments.json):
            continue
        name, mechanism, epsilon = case.split(":")
        domain, codes = data[name]
        content = {"columns": domain.names, "sizes": domain.sizes, "mechanism": mechanism, "epsilon": float(epsilon)}
        row = run(arguments.python, content | {"delta": DELTA, "seed": seed}, codes, arguments.limit)
        print(json.dumps({f"{case}:{seed}": row}), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(_rows(arguments.json) | {f"{case}:{seed}": row}, indent=1) + "\n")


def _rows(file: Path | None) -> dict[str, Any]:
    """The runs in a file; several programs may add to it."""
    return json.loads(file.read_text()) if file and file.exists() else {}


if __name__ == "__main__":
    main()

"""One run of a peer's mechanism, AIM or MST, by an interpreter that has it; `records_compared` makes many."""

import json
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record_errors import Codes, errors_by_order

WORKER = Path(__file__).with_name("peer_worker.py")


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

"""Messages for programs: one JSON object a line.

Reads: strings, numbers, paths.  Gives: lines on standard output and standard error.

Messages while records are read do not depend on them: no times, and progress at fixed steps of the work.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TextIO

#: Called with the number of steps done and their total.
Progress = Callable[[int, int], None]

#: The least time between two reports of progress, in seconds.
INTERVAL = 1.0
#: How often progress is reported while records are read.
_REPORTS = 10


def event_line(event: str, text: str, facts: Mapping[str, Any]) -> str:
    """One message as a line of JSON, in ASCII.

    Example:
        >>> event_line("wrote", "Wrote  a.plan", {"path": "a.plan", "gap": math.inf, "cost": Fraction(1, 3)})
        '{"event": "wrote", "text": "Wrote a.plan", "path": "a.plan", "gap": null, "cost": "1/3"}'
    """
    plain = {name: _plain(value) for name, value in facts.items()}
    return json.dumps({"event": event, "text": " ".join(text.split()), **plain}, allow_nan=False)


def write_line(line: str, file: TextIO | None = None) -> None:
    """Write a line at once; where nobody reads any more, as in ``| head``, go on: the files are what counts."""
    stream = sys.stdout if file is None else file
    try:
        print(line, file=stream, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def timed_events(label: str) -> Iterator[Progress]:
    """Report the block's progress once a second at most, and the time it took."""
    start = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= INTERVAL:
            last = time.monotonic()
            write_line(event_line("progress", label, {"done": done, "total": total}))

    yield report
    write_line(event_line("done", label, {"seconds": round(time.monotonic() - start, 3)}))


@contextmanager
def counted_events(label: str) -> Iterator[Progress]:
    """Report the block's progress at ten steps of the work that are the same whatever the records are, and no time."""
    reached = 0

    def report(done: int, total: int) -> None:
        nonlocal reached
        while reached < _REPORTS and done * _REPORTS >= (reached + 1) * total:
            reached += 1
            step = -(-reached * total // _REPORTS)
            write_line(event_line("progress", label, {"done": step, "total": total}))

    yield report
    write_line(event_line("done", label, {}))


def _plain(value: object) -> object:
    """A value as JSON has it: exact numbers and paths as strings, numbers that are not finite as null."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    number = float(value)  # type: ignore[arg-type]  # NumPy's numbers, too
    return None if not math.isfinite(number) else number

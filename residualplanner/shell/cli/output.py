"""Messages, tables and progress, for the person or the program that called a command: lines, or one JSON object each.

Messages while records are read do not depend on them: no times, and progress at fixed steps of the work.
"""

import json
import math
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TextIO

#: Called with the number of steps done and their total.
Progress = Callable[[int, int], None]

#: The least time between two reports of progress, in seconds.
INTERVAL = 1.0
#: How often progress is reported while records are read.
_REPORTS = 10
#: How long a step may take before a progress bar appears, in seconds.
PATIENCE = 1.0
_WIDTH_OF_FILES = 110


@dataclass(frozen=True, slots=True)
class Output:
    """Where the messages of a command go.

    Every message has an event and facts, which programs get as a line of JSON, and a text, which people get.

    Attributes:
        quiet: print nothing but errors.
        as_json: print messages for programs.
    """

    quiet: bool = False
    as_json: bool = False

    def say(self, text: str = "", *, style: str | None = None, event: str = "message", **facts: Any) -> None:
        """Print a line, or several, unchanged."""
        if self.quiet:
            return
        if self.as_json:
            write_line(event_line(event, text, facts))
            return
        from rich.console import Console

        with _open_end():
            Console(soft_wrap=True).print(text, style=style, highlight=False, markup=False, emoji=False)

    def fact(self, label: str, *lines: str, event: str | None = None, **facts: Any) -> None:
        """Print lines with a label before the first; the event has the name of the label."""
        if self.as_json:
            text = "; ".join(line.rstrip(";") for line in lines)
        else:
            text = f"{label:<11} " + f"\n{'':<11} ".join(lines)
        self.say(text, event=event or label.lower(), **facts)

    def wrote(self, path: os.PathLike[str], text: str, *, also: Sequence[os.PathLike[str]] = ()) -> None:
        """Say that a file or folder, and others with it, has been written."""
        self.say(f"Wrote {path}{text}", event="wrote", path=path, also=list(also))

    def next(self, *commands: tuple[str, str]) -> None:
        """Say what to type next: commands, each with a few words on its purpose."""
        width = max(len(command) for command, _ in commands)
        for number, (command, purpose) in enumerate(commands):
            if self.as_json:
                self.say(purpose, event="next", command=command)
            else:
                start, end = "Next: " if number == 0 else "      ", f"   ({purpose})" if purpose else ""
                self.say(start + (f"{command:<{width}}{end}" if end else command))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        texts: int = 1,
        event: str = "row",
        facts: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Print rows under headings: the first ``texts`` columns flush left, the rest, numbers, flush right.

        For programs each row is an event, with ``facts`` in place of the strings where they are given.
        """
        if self.quiet:
            return
        if self.as_json:
            for row_facts in facts or [dict(zip(columns, row, strict=True)) for row in rows]:
                self.say(event=event, **row_facts)
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console()
        if not console.is_terminal:
            console = Console(width=_WIDTH_OF_FILES)
        table = Table(box=box.SIMPLE, pad_edge=False)
        for number, column in enumerate(columns):
            table.add_column(Text(column), justify="left" if number < texts else "right", no_wrap=number >= texts)
        for row in rows:
            table.add_row(*map(Text, row))
        with _open_end():
            console.print(table)

    def progress(self, label: str, *, is_private: bool = False) -> AbstractContextManager[Progress]:
        """Show a bar on a terminal if the block takes longer than a second; the block reports its steps.

        Args:
            label: what is being done.
            is_private: whether records are read: then programs learn nothing of how long it takes.
        """
        if self.as_json and not self.quiet:
            return counted_events(label) if is_private else timed_events(label)
        return self._bar(label)

    @contextmanager
    def _bar(self, label: str) -> Iterator[Progress]:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield lambda _done, _total: None
            return
        bar = Bar(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), console=console, transient=True)
        task = bar.add_task(label, total=None)
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda done, total: bar.update(task, completed=done, total=total)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()


@contextmanager
def _open_end() -> Iterator[None]:
    """Go on where nobody reads what is printed any more, as in ``| head``: the files are what counts."""
    with suppress(SystemExit):  # rich's answer to a closed pipe, after it has sent all further output nowhere
        yield


def command_text(*words: object) -> str:
    """A command of this package as one types it, with quotes where a shell needs them.

    Example:
        >>> command_text("reconstruct", "my file", "-o", "out")
        "residualplanner reconstruct 'my file' -o out"
    """
    return shlex.join(["residualplanner", *map(str, words)])


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

"""Messages, tables, progress and errors, for the person or the program that called a command: lines, or JSON.

Messages while records are read do not depend on them: no times, and progress at fixed steps of the work.  What goes
wrong becomes one clean message and an exit status, without a traceback or the message of an error that this library did
not raise itself: these might quote a record.
"""

import json
import math
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from residualplanner.ground import errors

if TYPE_CHECKING:
    from residualplanner.ground.checks import Steps

#: The least time between two reports of progress, in seconds; how often it is reported while records are read.
INTERVAL, _REPORTS = 1.0, 10
_BAR = 40
_FAILED, _WRONG_INPUT = 1, 2
#: The library's errors for which the input is not to blame, and the system's for which it is.
_FAILURES = (
    errors.SolverError,
    errors.DeviceError,
    errors.MissingExtraError,
    errors.ResourceError,
    errors.UnforcedError,
    errors.UnexpectedError,
    errors.NoiseError,
    errors.StoreError,
)
_WRONG_PATHS = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError)


#: What the library says of Python, and what is said in its place where commands and specs are typed.
TYPED_WORDS = {
    "write again=True, or --again": "add --again",
    "rp.check(domain, data), or residualplanner check, lists": "residualplanner check lists",
    'fill them, or declare missing="Not stated" or "drop"': 'fill them, or write in the spec missing = "Not stated" or '
    '"drop", as in edu = { labels = ["a", "b"], missing = "Not stated" }',
    "add them to the attribute": "add them to the column's values",
    'declare unknown="Other" or "drop"': 'write in the spec unknown = "Other" or "drop"',
    'outside="clip"': 'outside = "clip" inside numeric = { ... }',
    "columns are matched by exact name": "columns are matched by exact name; to see those of the file, run "
    '"residualplanner check SPEC FILE"',
    "ask for its Sum()": 'write "sum" for it, as in kinds = { pay = "sum" }',
    "declare more bins": "write more bins, as in numeric = { low = 0, high = 100000, bins = 10 }",
    "declare Numeric(low, high, squares=True)": "write numeric = { low = 0, high = 100000, squares = true }",
    "declare Numeric(..., squares=True)": "write squares = true inside numeric = { ... }",
    "declare Numeric(low, high) in": "write { numeric = { low = 0, high = 100000 } } in",
    "make it Numeric or Bins": "write numeric = { low = 0, high = 100000, bins = 10 } or bins = [...]",
    "declare Bins in place of Numeric": "write bins = [...] in place of numeric = { ... }",
    "ask for Prefix() instead": 'write "prefix" instead',
    ", or in Python give a frame in which all columns are strings": "",
}


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print messages and errors as lines of JSON, for programs.")]


@dataclass(frozen=True, slots=True)
class Output:
    """A group of options: where messages go, as text for people, or for programs as events with facts in JSON."""

    quiet: Quiet = False
    as_json: Json = False

    def say(self, text: str = "", *, event: str = "message", **facts: Any) -> None:
        """Print a line, or several, unchanged."""
        if not self.quiet:
            _write_line(event_line(event, text, facts) if self.as_json else text)

    def fact(self, label: str, *lines: str, event: str | None = None, **facts: Any) -> None:
        """Print lines with a label before the first; the event has the name of the label."""
        if self.as_json:
            text = "; ".join(line.rstrip(";") for line in lines)
        else:
            text = f"{label:<11} " + f"\n{'':<11} ".join(lines)
        self.say(text, event=event or label.lower(), **facts)

    def wrote(self, path: Path, text: str, *, also: Sequence[Path] = ()) -> None:
        """Say that a file or folder, and others with it, has been written."""
        self.say(f"Wrote {path}{text}", event="wrote", path=path, also=list(also))

    def next(self, *commands: tuple[str, str]) -> None:
        """Say what to type next: commands, each with a few words on its purpose."""
        width = max(len(command) for command, _ in commands)
        for number, (command, purpose) in enumerate(commands):
            text = purpose if self.as_json else f"{'' if number else 'Next:':<6}{command:<{width}}   ({purpose})"
            self.say(text, event="next", command=command)

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        texts: int = 1,
        event: str = "row",
        facts: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Print rows, the first ``texts`` columns flush left, others flush right; for programs ``facts`` of each."""
        if self.as_json:
            for row_facts in facts or [dict(zip(columns, row, strict=True)) for row in rows]:
                self.say(event=event, **row_facts)
            return
        lines = [columns, *rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = zip(line, widths, strict=True)
            padded = [cell.ljust(width) if i < texts else cell.rjust(width) for i, (cell, width) in enumerate(cells)]
            self.say(f" {'   '.join(padded)}".rstrip())

    @contextmanager
    def progress(self, label: str, *, is_private: bool = False) -> "Iterator[Steps]":
        """Report the steps of the block once a second at most, and to programs the time that it took.

        Where records are read it is private: programs are told at the same ten steps whatever these are, and no time.
        """
        start = last = time.monotonic()
        reached = 0
        is_shown = not self.quiet and (self.as_json or sys.stderr.isatty())

        def report(done: int, total: int) -> None:
            nonlocal last, reached
            if self.as_json and is_private:
                while reached < _REPORTS and done * _REPORTS >= (reached + 1) * total:
                    reached += 1
                    self._step(label, -(-reached * total // _REPORTS), total)
            elif time.monotonic() - last >= INTERVAL:
                last = time.monotonic()
                self._step(label, done, total)

        try:
            yield report if is_shown else lambda _done, _total: None  # `untold`, without waiting for NumPy
        finally:
            if is_shown and not self.as_json and last > start:
                sys.stderr.write("\r\x1b[K")  # the bar has no line of its own
        if self.as_json:
            self.say(label, event="done", **({} if is_private else {"seconds": round(time.monotonic() - start, 3)}))

    def _step(self, label: str, done: int, total: int) -> None:
        if self.as_json:
            self.say(label, event="progress", done=done, total=total)
        else:
            sys.stderr.write(f"\r{label} {'━' * (_BAR * done // max(total, 1)):<{_BAR}} {done / max(total, 1):4.0%}")
            sys.stderr.flush()


def command_text(*words: object) -> str:
    """A command of this package as one types it, with quotes where a shell needs them."""
    return shlex.join(["residualplanner", *map(str, words)])


def event_line(event: str, text: str, facts: Mapping[str, Any]) -> str:
    """One message as a line of JSON, in ASCII."""
    plain = {name: _plain(value) for name, value in facts.items()}
    return json.dumps({"event": event, "text": " ".join(text.split()), **plain}, allow_nan=False)


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


def _write_line(line: str, file: TextIO | None = None) -> None:
    """Write a line at once; where nobody reads any more, as in ``| head``, go on: the files are what counts."""
    stream = sys.stdout if file is None else file
    try:
        print(line, file=stream, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def reported_failures(*, as_json: bool = False) -> Iterator[None]:
    """Turn what the block raises into a message on standard error and a status: 1 (the run failed), 2 (wrong input)."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt) as error:  # the outermost frame: a traceback could show records
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # from the parser of the command line
            if not as_json:
                raise  # the parser prints it, with status 2
            kind, status, text = "UsageError", _WRONG_INPUT, error.format_message()  # type: ignore[union-attr]
        else:
            kind, (status, text) = type(error).__name__, _told(error)
        notes = notes_of(error)
        if as_json:
            _write_line(event_line("error", text, {"kind": kind, "status": status, "notes": notes}), sys.stderr)
        else:
            typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
            typer.echo("\n".join([text, *notes]), err=True)
        raise typer.Exit(status) from None


def _told(error: BaseException) -> tuple[int, str]:
    """The exit status and the message of an error: its own text only if this library or the system raised it."""
    if isinstance(error, OSError):
        text = str(error) if error.strerror is None else error.strerror
        named = text if error.strerror is None or error.filename is None else f"{error.filename}: {text}"
        is_wrong = isinstance(error, (*_WRONG_PATHS, errors.ResidualPlannerError)) and not isinstance(error, _FAILURES)
        return _WRONG_INPUT if is_wrong else _FAILED, named
    if isinstance(error, errors.ResidualPlannerError):
        return _FAILED if isinstance(error, _FAILURES) else _WRONG_INPUT, typed_words(str(error))
    if isinstance(error, MemoryError):
        text = "out of memory; ask for fewer or smaller tables, with a lower up_to, with max_cells or fewer ranges"
        return _FAILED, text
    if isinstance(error, KeyboardInterrupt):
        return _FAILED, "interrupted"
    what = f"unexpected {type(error).__name__} at {errors.location_of(error)}"
    return _FAILED, f"{what}; this is a defect, please report it"


def typed_words(text: str) -> str:
    """A message of the library in the words of the command line and of a spec, in place of Python's."""
    for in_python, typed in TYPED_WORDS.items():
        text = text.replace(in_python, typed)
    return text


def notes_of(error: BaseException) -> list[str]:
    """The notes added to an error: what has been spent all the same, and what to do about it."""
    return list(getattr(error, "__notes__", []))


@contextmanager
def telling_outputs(*paths: Path) -> Iterator[None]:
    """Add to an error which of the files and folders that the block writes exist, each whole or not at all.

    A refusal of this library's own comes before anything is written, and needs no such note.
    """
    before = [_identity(path) for path in paths]
    try:
        yield
    except BaseException as error:
        written = [path for path, old in zip(paths, before, strict=True) if _identity(path) not in (None, old)]
        if written:
            error.add_note(f"Written all the same, and whole: {', '.join(map(str, written))}.")
        elif not isinstance(error, errors.ResidualPlannerError):
            error.add_note("Nothing was written.")
        raise


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file or folder from an earlier one at its path; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the spec in errors of the block's library calls."""
    try:
        yield
    except (errors.DomainError, errors.WorkloadError, errors.BudgetError, errors.FileFormatError) as error:
        raise errors.FileFormatError(f"{path}: {error}") from None

"""What goes wrong, as one clean message on standard error and an exit status: 1 (the run failed), 2 (wrong input).

No traceback is shown, nor the message of an error that this library did not raise itself: it might quote a record.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from residualplanner.ground import errors
from residualplanner.shell.cli.output import event_line, write_line

FAILED, WRONG_INPUT = 1, 2
#: The library's errors for which the input is not to blame.
_FAILURES = (
    errors.SolverError,
    errors.DeviceError,
    errors.MissingExtraError,
    errors.ResourceError,
    errors.UnforcedError,
    errors.UnexpectedError,
)


@contextmanager
def reported_failures(*, as_json: bool = False) -> Iterator[None]:
    """Turn what the block raises into a message and an exit status."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt) as error:  # the outermost frame: a traceback could show records
        if hasattr(error, "exit_code") and hasattr(error, "show"):  # from the parser of the command line
            if not as_json:
                raise  # the parser prints it, with status 2
            kind, status, text = "UsageError", WRONG_INPUT, error.format_message()  # type: ignore[union-attr]
        else:
            kind, (status, text) = type(error).__name__, _told(error)
        notes = notes_of(error)
        if as_json:
            facts = {"kind": kind, "status": status, "notes": notes}
            write_line(event_line("error", text, facts), sys.stderr)
        else:
            typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
            typer.echo("\n".join([text, *notes]), err=True)
        raise typer.Exit(status) from None


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


def _told(error: BaseException) -> tuple[int, str]:
    """The exit status and the message of an error: its own text only if this library or the system raised it."""
    if isinstance(error, _FAILURES):
        return FAILED, _text_of(error) if isinstance(error, OSError) else str(error)
    if isinstance(error, errors.ResidualPlannerError):
        return WRONG_INPUT, str(error)
    if isinstance(error, FileExistsError | FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return WRONG_INPUT, _text_of(error)
    if isinstance(error, OSError):
        return FAILED, _text_of(error)
    if isinstance(error, MemoryError):
        text = "out of memory; ask for fewer or smaller tables, with a lower up_to, with max_cells or fewer ranges"
        return FAILED, text
    if isinstance(error, KeyboardInterrupt):
        return FAILED, "interrupted"
    what = f"unexpected {type(error).__name__} at {errors.location_of(error)}"
    return FAILED, f"{what}; this is a defect, please report it"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the spec in errors of the block's library calls."""
    try:
        yield
    except (errors.DomainError, errors.WorkloadError, errors.BudgetError) as error:
        raise errors.FileFormatError(f"{path}: {error}") from None


def _text_of(error: OSError) -> str:
    """The error in words: the system's own, with the file's name, where it raised it."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"

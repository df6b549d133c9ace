"""What goes wrong, as one clean message and an exit status.

Reads: exceptions.  Gives: text on standard error, and status 1 (the run failed) or 2 (the input is wrong).
No traceback is shown, and of an error that this library did not raise itself no text either: it might quote a record.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from residualplanner.errors import (
    BudgetError,
    DomainError,
    FileFormatError,
    MissingExtraError,
    ResidualPlannerError,
    SolverError,
    WorkloadError,
)

FAILED, WRONG_INPUT = 1, 2


@contextmanager
def reported_failures() -> Iterator[None]:
    """Turn what the block raises into a message and an exit status."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except (SolverError, MissingExtraError) as error:
        _stop(str(error), FAILED)
    except ResidualPlannerError as error:
        _stop(str(error), WRONG_INPUT)
    except (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        _stop(_text_of(error), WRONG_INPUT)
    except OSError as error:
        _stop(f"{_text_of(error)}; nothing was written", FAILED)
    except MemoryError:
        _stop(
            "out of memory; ask for fewer or smaller tables, with a lower up_to, with max_cells or fewer ranges", FAILED
        )
    except KeyboardInterrupt:
        _stop("interrupted; no output was written", FAILED)
    except Exception as error:  # the outermost frame: a traceback could show records
        if _is_usage_error(error):
            raise
        _stop(f"unexpected {type(error).__name__} at {_place(error)}; this is a defect, please report it", FAILED)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say in which spec it stands what does not fit the block's library calls."""
    try:
        yield
    except (DomainError, WorkloadError, BudgetError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def require_free_file(path: Path) -> None:
    """Raise FileExistsError or FileNotFoundError unless a file can be made at ``path``."""
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} is there already and is not overwritten; name another file, or remove it first")
    require_folder_around(path)


def require_folder_around(path: Path) -> None:
    """Raise FileNotFoundError unless the folder that ``path`` is to stand in exists."""
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")


def require_readable(path: Path) -> None:
    """Raise an error with a remedy unless ``path`` is a file that can be opened."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; check the name and the folder you are in")
    if not os.access(path, os.R_OK):
        raise FileFormatError(f"{path} cannot be read; check its permissions")


def _stop(message: str, status: int) -> None:
    typer.secho("Error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
    typer.echo(message, err=True)
    raise typer.Exit(status) from None


def _text_of(error: OSError) -> str:
    """The error in words: the system's own, with the file's name, where it raised it."""
    if error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _is_usage_error(error: Exception) -> bool:
    """Whether the command-line parser raised it; it prints such errors itself, with status 2."""
    return hasattr(error, "exit_code") and hasattr(error, "show")


def _place(error: BaseException) -> str:
    """Where in this package an error arose: public, unlike its text."""
    package = Path(sys.modules["residualplanner"].__file__ or ".").parent
    place, trace = "an unknown place", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(package):
            place = f"{file.relative_to(package.parent).as_posix()}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place

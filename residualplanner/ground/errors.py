"""The errors of this library: one base class, each also the built-in error that a caller expects; and its warning.

Messages say what was wrong, where, and what to write instead.  They never contain a value or a count of records.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


class ResidualPlannerError(Exception):
    """The base of every error this library raises on purpose."""


class DomainError(ResidualPlannerError, ValueError):
    """An attribute, size or label does not fit the domain; ``attributes`` names them."""

    def __init__(self, message: str, *, attributes: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.attributes = tuple(attributes)


class WorkloadError(ResidualPlannerError, ValueError):
    """A query, family or weight cannot be planned for."""


class BudgetError(ResidualPlannerError, ValueError):
    """A privacy budget, loss target or noise level is out of range, or a plan would overspend."""


class DataError(ResidualPlannerError, ValueError):
    """The records do not fit the schema; ``column`` names where.  Never says which record or value."""

    def __init__(self, message: str, *, column: str | None = None) -> None:
        super().__init__(message)
        self.column = column


class ArgumentError(ResidualPlannerError, TypeError):
    """An argument is of the wrong type, such as the records in the place of the plan."""


class SolverError(ResidualPlannerError, RuntimeError):
    """An optimizer ended without a usable answer; ``status`` is its own word for the reason."""

    def __init__(self, message: str, *, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class FileFormatError(ResidualPlannerError, ValueError):
    """A file is truncated, altered, of another version, or not of this library."""


class ResourceError(ResidualPlannerError, MemoryError):
    """The machine, or an engine, has too little memory for the task."""


class DeviceError(ResidualPlannerError, RuntimeError):
    """A device that was requested cannot be used; nothing is computed elsewhere in its place."""


class UnforcedError(ResidualPlannerError, OSError):
    """A file or folder is written completely, but the system could not force its name to the disk."""


class StoreError(ResidualPlannerError, OSError):
    """A store of a release could not be read or written, or somebody else is at work in it."""


class NoiseError(ResidualPlannerError, RuntimeError):
    """Noise cannot be drawn safely: the random bytes or the machine's arithmetic failed a check."""


class UnexpectedError(ResidualPlannerError, RuntimeError):
    """A defect found while records were in memory; only its location is shown, since its text may quote a record."""


class MissingExtraError(ResidualPlannerError, ImportError):
    """An optional package is not installed; ``extra`` says which extra brings it."""

    def __init__(self, message: str, *, extra: str) -> None:
        super().__init__(message)
        self.extra = extra


class NoLedgerWarning(UserWarning):
    """Records were measured without a ledger, so nothing adds up what is spent; said once in a process."""


@contextmanager
def memory_for(task: str) -> Iterator[None]:
    """Raise ResourceError instead of Python's MemoryError, naming the task that needed more; also a decorator."""
    try:
        yield
    except ResourceError:
        raise
    except MemoryError:
        raise ResourceError(f"there was not enough memory {task}") from None


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Raise MissingExtraError, which begins with what needs a package, where the block cannot import it."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(f"{what}: pip install 'residualplanner[{extra}]'", extra=extra) from None


def location_of(error: BaseException) -> str:
    """The line of this package where an error arose, which is public, unlike its text."""
    location, trace = "an unknown line", error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(_PACKAGE):
            location = f"{file.relative_to(_PACKAGE.parent).as_posix()}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return location

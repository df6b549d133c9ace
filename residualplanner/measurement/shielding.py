"""Errors that leave the gate and do not lead to the records.

Reads: whatever was raised while records or counts were in memory.  Gives: an error to raise where neither are.

Error reporters print the variables of every frame along a traceback, and other libraries quote values.  So an error
loses its traceback, its cause and its context, and one that is not this library's own its text, too.
"""

from residualplanner._checks import value_text
from residualplanner.errors import (
    ArgumentError,
    DataError,
    ResidualPlannerError,
    ResourceError,
    UnexpectedError,
    location_of,
)
from residualplanner.sources import Progress


class WatchedProgress:
    """A report of progress, and the error it raised: that is the caller's own, and passes.

    Raises:
        ArgumentError: it is not a function.
    """

    def __init__(self, progress: Progress | None) -> None:
        if progress is not None and not callable(progress):
            raise ArgumentError(f"progress must be a function of two numbers, got {value_text(progress)}")
        self._progress = progress
        self._raised: BaseException | None = None

    @property
    def report(self) -> Progress | None:
        """The function to call; None where no progress is reported."""
        return None if self._progress is None else self._call

    def has_raised(self, error: BaseException) -> bool:
        """Whether the error was raised by the report."""
        return error is self._raised

    def _call(self, done: int, total: int) -> None:
        assert self._progress is not None
        try:
            self._progress(done, total)
        except BaseException as error:
            self._raised = error
            raise


def shielded(error: BaseException, progress: WatchedProgress) -> BaseException:
    """The error to raise instead of one that was raised where records are; itself if it is harmless.

    Args:
        error: its history is removed.
        progress: its errors pass, as interrupts do.
    """
    is_callers = progress.has_raised(error)
    location = location_of(error)
    without_history(error)
    if is_callers:
        error.add_note("It was raised by progress, whose traceback leads to the records and is left out.")
        return error
    if isinstance(error, DataError):
        return DataError(str(error), column=error.column)
    if isinstance(error, ResidualPlannerError) or not isinstance(error, Exception):
        return error
    if isinstance(error, MemoryError):
        return ResourceError(
            "there was not enough memory to measure; ask for fewer or smaller tables, with a lower up_to or with "
            "max_cells, or measure on a machine with more memory"
        )
    return UnexpectedError(
        f"unexpected {type(error).__name__} at {location}.  What it said is withheld, because it may quote a record; "
        "unless a signal handler of yours raised it, this is a defect, please report it"
    )


def without_history(error: BaseException) -> BaseException:
    """The same error, as if it had not been raised yet."""
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error

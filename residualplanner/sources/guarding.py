"""Errors that carry no data away.

Reads: a step that touches records.  Gives: its result, or a DataError as a value, to be raised where no data are.

Libraries put record values into their messages, and error reporters print the variables of every frame along a
traceback.  So whatever a step raises ends here: the exception, its traceback and its context are discarded, and a new
error with a fixed text takes its place.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from residualplanner.errors import DataError, DomainError

P = ParamSpec("P")
T = TypeVar("T")

_UNREADABLE = (
    "the records could not be read as a table.  What the reader said is withheld, because it may quote a record; "
    "open the same data with pandas, Polars or DuckDB to see it"
)


def guarded(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | DataError:
    """The step's result, or the error it ended in, not raised and without history."""
    try:
        return step(*args, **kwargs)
    except (DataError, DomainError) as error:
        return DataError(str(error), column=getattr(error, "column", None))
    except MemoryError:
        return DataError("there is not enough memory to read the records")
    except Exception:  # noqa: BLE001 - the text of a foreign error is an output, and may hold a record
        return DataError(_UNREADABLE)

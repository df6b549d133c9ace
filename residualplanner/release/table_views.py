"""A table as consoles and notebooks show it, and as other libraries hold it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import MissingExtraError
from residualplanner.ground.html import ROWS, html_table, rest_note
from residualplanner.ground.words import COUNTS, count_text, number_text
from residualplanner.release.product import Product

if TYPE_CHECKING:
    import polars as pl
    import xarray as xr


class Viewed(Protocol):
    """What is shown of a table: estimates and standard errors with their labels."""

    @property
    def title(self) -> str: ...  # noqa: D102

    @property
    def universe(self) -> str: ...  # noqa: D102

    @property
    def warning(self) -> str: ...  # noqa: D102

    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def unit(self) -> str: ...  # noqa: D102

    @property
    def labels(self) -> tuple[tuple[object, ...], ...]: ...  # noqa: D102

    @property
    def labels_in_words(self) -> tuple[tuple[str, ...], ...]: ...  # noqa: D102

    @property
    def estimate(self) -> FloatArray: ...  # noqa: D102

    @property
    def std_err(self) -> FloatArray: ...  # noqa: D102

    @property
    def product(self) -> Product: ...  # noqa: D102


def text_of(table: Viewed) -> str:
    """A table as a console shows it: a row for each cell, up to a number of rows."""
    head, rows = [*table.names, *table.product.columns], _rows(table)
    lines = [head, *([str(entry) for entry in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    is_number = [False] * len(table.names) + [True, True]
    body = [
        "  ".join(
            entry.rjust(width) if right else entry.ljust(width)
            for entry, width, right in zip(line, widths, is_number, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join(filter(None, [_title(table), *body, _note(table)]))


def html_of(table: Viewed) -> str:
    """A table as a notebook shows it: the same rows."""
    return html_table(_title(table), [*table.names, *table.product.columns], _rows(table), note=_note(table))


def polars_of(columns: dict[str, Sequence[object]]) -> "pl.DataFrame":
    """Columns as a polars frame.

    Raises:
        MissingExtraError: polars is not installed.
    """
    with _needing("polars"):
        import polars as pl
    return pl.DataFrame(columns, strict=False)


def xarray_of(table: Viewed) -> "xr.Dataset":
    """A table as an xarray data set: ``estimate`` and ``std_err``, with labels along each axis.

    Raises:
        MissingExtraError: xarray is not installed.
    """
    with _needing("xarray"):
        import xarray as xr
    coordinates: dict[str, Any] = {
        name: (name, _array_of(labels)) for name, labels in zip(table.names, table.labels, strict=True)
    }
    estimate, std_err = table.product.columns
    arrays = {estimate: (table.names, table.estimate), std_err: (table.names, table.std_err)}
    about = {name: text for name, text in (("universe", table.universe), ("noise", table.warning)) if text}
    return xr.Dataset(arrays, coordinates, {"units": table.unit} | about)


@contextmanager
def _needing(package: str) -> Iterator[None]:
    """Raise MissingExtraError where the package of a frame cannot be imported."""
    try:
        yield
    except ImportError:
        message = f"to_{package} needs {package}, which is not installed: pip install 'residualplanner[frames]'"
        raise MissingExtraError(message, extra="frames") from None


def _array_of(labels: Sequence[object]) -> Any:
    """Labels as an array: of numbers or strings where all are of one type, else of objects."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float | bool):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _rows(table: Viewed) -> list[list[object]]:
    """The first cells in C order, each with its labels in words, estimate and standard error."""
    shape, count = table.estimate.shape, min(table.estimate.size, ROWS)
    indices = np.stack(np.unravel_index(np.arange(count), shape or (1,)), axis=1)[:, : len(shape)]
    numbers = zip(table.estimate.ravel()[:count].tolist(), table.std_err.ravel()[:count].tolist(), strict=True)
    return [
        [*(labels[i] for labels, i in zip(table.labels_in_words, index, strict=True)), *map(number_text, pair)]
        for index, pair in zip(indices.tolist(), numbers, strict=True)
    ]


def _title(table: Viewed) -> str:
    unit = "" if table.unit == COUNTS else f", in {table.unit}"
    warning = f"; {table.warning}" if table.warning else ""
    return f"{table.title}: {count_text(table.estimate.size, 'cell')}{unit}{warning}"


def _note(table: Viewed) -> str:
    return rest_note(table.estimate.size - ROWS, ".to_frame() has all")

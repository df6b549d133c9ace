"""A table that is public anyway, in a CSV file: a line for each cell, with its labels and its count.

Reads: CSV.  Gives: counts.  No message shows what a file holds: it could be another one than was meant.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import QueryLike, written_query

#: The column of the counts.
COUNT = "count"


def counts_of_file(path: Path, query: QueryLike, domain: Domain) -> NDArray[np.float64]:
    """The counts of a query's table, in its shape.

    Args:
        path: of a CSV file in UTF-8 with a column for each attribute of the query, which holds labels as tables show
            them, and a column "count", in any order; a line for each cell, in any order.
        query: which table it is.
        domain: the schema.

    Raises:
        DomainError: the query has an attribute that is not in the domain.
        FileFormatError: the file has other columns or lines.
        OSError: it cannot be opened.
    """
    written = written_query(domain, query)
    names = [domain.names[position] for position in written.positions]
    pairs = zip(names, written.kinds, strict=True)
    codes = [{str(label): code for code, label in enumerate(kind.labels(domain[name]))} for name, kind in pairs]
    found = np.full([len(axis) for axis in codes], np.nan)
    with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as file:
        for line, row in _rows(path, file, [*names, COUNT], most=found.size):
            cell, count = _cell(row, names, codes), _number(row[COUNT])
            if cell is None:
                raise FileFormatError(
                    f"{path}, line {line}: these are not the labels of a cell of the table of {names}"
                )
            if not math.isnan(found[cell]):
                raise FileFormatError(f"{path}, line {line}: this cell has had a line before")
            if not math.isfinite(count):
                raise FileFormatError(f'{path}, line {line}: in the column "{COUNT}" there is no number')
            found[cell] = count
    if np.isnan(found).any():
        raise FileFormatError(f"{path} lacks a line for some cells; write one for each, with 0 where there is nobody")
    return found


def _rows(
    path: Path, file: Iterator[str], columns: Sequence[str], *, most: int
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The lines of a file as mappings, with their numbers; no more than ``most`` and one."""
    reader = csv.reader(file, strict=True)
    try:
        header = next(reader, [])
        if sorted(header) != sorted(columns):
            raise FileFormatError(f"{path}: its first line must name the columns {', '.join(columns)}, and no others")
        for row in islice(reader, most + 1):
            if len(row) != len(header):
                raise FileFormatError(f"{path}, line {reader.line_num}: expected {len(header)} values")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except (csv.Error, UnicodeDecodeError):
        raise FileFormatError(f"{path} is not CSV in UTF-8") from None


def _cell(row: Mapping[str, str], names: Sequence[str], codes: Sequence[Mapping[str, int]]) -> tuple[int, ...] | None:
    """The cell that a line is about; None where its labels are none of the table's."""
    found = [axis.get(row[name]) for name, axis in zip(names, codes, strict=True)]
    return None if None in found else tuple(code for code in found if code is not None)


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)  # Python would read 1_0 as 10
    except ValueError:
        return math.nan

"""Blocks of codes: the one way in which columns become codes, wherever the records are.

Reads: Arrow record batches, pandas frames, matrices of codes.  Gives: coded blocks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import UNKNOWN, Domain
from residualplanner.errors import DataError
from residualplanner.sources.columns import ArrowColumn, pandas_column
from residualplanner.sources.counting import BLOCK
from residualplanner.sources.multiplicities import Once
from residualplanner.sources.rules import Block, block_of_columns, code_type

if TYPE_CHECKING:
    import pandas as pd


def blocks_of_batches(domain: Domain, batches: Iterable[Any], *, by_index: bool = False) -> Iterator[Block]:
    """One coded block for each Arrow record batch.

    Args:
        domain: the schema.
        batches: they hold a column for each attribute.
        by_index: columns are found by their position, in the order of the attributes, and not by their names.
    """
    columns = [ArrowColumn(attribute) for attribute in domain.attributes]
    keys: Sequence[int | str] = range(len(domain)) if by_index else domain.names
    for batch in batches:
        coded = (column.coded(batch.column(key)) for column, key in zip(columns, keys, strict=True))
        yield block_of_columns(domain, coded, Once(batch.num_rows))


def blocks_of_pandas(domain: Domain, frame: "pd.DataFrame") -> Iterator[Block]:
    """Coded blocks of at most BLOCK records of a pandas frame that has a column for each attribute."""
    columns = [pandas_column(attribute, frame[attribute.name]) for attribute in domain.attributes]
    for start in range(0, len(frame), BLOCK):
        rows = slice(start, min(start + BLOCK, len(frame)))
        coded = (coded_rows(rows) for coded_rows in columns)
        yield block_of_columns(domain, coded, Once(rows.stop - rows.start))


def blocks_of_matrix(matrix: NDArray[Any], domain: Domain) -> Callable[[], Iterator[Block]]:
    """Coded blocks of a matrix of codes.

    Args:
        matrix (records, d): column i holds codes 0 .. n_i-1 of the domain's i-th attribute, whatever its labels are,
            or the amounts themselves.
        domain: the schema.

    Returns:
        A function that starts the stream of blocks.

    Raises:
        DataError: it is not a matrix of integers with one column per attribute.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise DataError("an array of records must be a matrix of integer codes, one row per record")
    if matrix.shape[1] != len(domain):
        message = f"a matrix of codes needs one column per attribute, {len(domain)}; it has {matrix.shape[1]}"
        raise DataError(message)
    return lambda: _blocks(matrix, domain)


def _blocks(matrix: NDArray[Any], domain: Domain) -> Iterator[Block]:
    sizes = np.array(domain.sizes, dtype=np.int64)
    amounts = {position: numeric for position, each in enumerate(domain.attributes) if (numeric := each.numeric)}
    for start in range(0, len(matrix), BLOCK):
        part = matrix[start : start + BLOCK]
        if not amounts and (part.min(axis=0, initial=0) >= 0).all() and (part.max(axis=0, initial=0) < sizes).all():
            yield Block(np.ascontiguousarray(part.T.astype(code_type(domain))), frozenset(), Once(len(part)))
        else:
            known = (part >= 0) & (part < sizes)
            raw = np.where(known, part.astype(np.int64), UNKNOWN)
            for position, numeric in amounts.items():
                raw[:, position] = numeric.places(part[:, position])
            yield block_of_columns(domain, raw.T, Once(len(part)))


def require_columns(names: Sequence[str], columns: Sequence[object]) -> None:
    """DataError unless each of ``names`` is one of ``columns``, once.

    The columns found are not listed: in a file without a header they are the values of a record.
    """
    found = [column for column in columns if isinstance(column, str)]
    there = set(found)
    missing = [name for name in names if name not in there]
    if missing:
        raise DataError(
            f"columns {missing} are missing from the data; columns are matched by exact name", column=missing[0]
        )
    twice = [name for name in names if found.count(name) > 1]
    if twice:
        raise DataError(f"columns {twice} occur more than once in the data; keep one of each", column=twice[0])

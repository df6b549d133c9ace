"""Blocks of codes: the one way in which columns become codes, wherever the records are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import (
    ArrowColumn,
    has_categories,
    pandas_column,
    require_types,
    type_of_series,
)
from residualplanner.gate.sources.counting import BLOCK
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.multiplicities import Multiplicities
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.rules import CodedBlock, block_of_columns, code_type
from residualplanner.gate.sources.source import Source
from residualplanner.gate.sources.tally import NOT_WATCHED, Watch
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd


def source_of(data: Any, domain: Domain, contributions: Contributions, watch: Watch | None) -> Source:
    """The records of a matrix of codes or of a pandas frame."""
    watch = watch or NOT_WATCHED
    if isinstance(data, np.ndarray):
        return source_of_blocks(domain, blocks_of_matrix(data, domain, watch=watch))
    names = names_of_columns(domain, contributions)
    require_columns(names, tuple(data.columns))
    is_declared = all(has_categories(data[name]) for name in contributions.columns[1:])
    require_types_of(domain, contributions, lambda name: type_of_series(data[name]), is_order_declared=is_declared)
    return source_of_blocks(domain, lambda: blocks_of_pandas(domain, contributions, data, watch=watch))


def names_of(data: Any) -> tuple[object, ...]:
    """The names of the columns of a pandas frame; a matrix has none."""
    return () if isinstance(data, np.ndarray) else tuple(data.columns)


def blocks_of_batches(
    domain: Domain,
    contributions: Contributions,
    batches: Iterable[Any],
    *,
    by_index: bool = False,
    watch: Watch = NOT_WATCHED,
) -> Iterator[CodedBlock]:
    """One coded block for each Arrow record batch, which holds the columns that `names_of_columns` gives.

    With ``by_index`` columns are found by their position, in that order, and not by their names.
    """
    columns = [ArrowColumn(column) for column in domain.columns]
    names, reader = names_of_columns(domain, contributions), contributions.reader()
    keys: dict[str, int | str] = {name: index if by_index else name for index, name in enumerate(names)}

    def coded_blocks() -> Iterator[CodedBlock]:
        for batch in batches:
            given = [batch.column(keys[column.name]) for column in columns]
            people = [batch.column(keys[name]) for name in contributions.columns]
            watch.begin(batch.num_rows)
            coded = (watch.column(i, given[i], column.coded(given[i])) for i, column in enumerate(columns))
            persons = reader.of_arrays(people)
            block = block_of_columns(domain, coded, Multiplicities(batch.num_rows), persons)
            watch.people(people, persons)
            yield block

    return watch.kept(reader.kept(coded_blocks()))


def blocks_of_pandas(
    domain: Domain, contributions: Contributions, frame: "pd.DataFrame", *, watch: Watch = NOT_WATCHED
) -> Iterator[CodedBlock]:
    """Coded blocks of at most BLOCK records of a pandas frame that has the columns that `names_of_columns` gives."""
    columns, reader = [pandas_column(column, frame[column.name]) for column in domain.columns], contributions.reader()
    persons_of = reader.of_series([frame[name] for name in contributions.columns])

    def coded_blocks() -> Iterator[CodedBlock]:
        for start in range(0, len(frame), BLOCK):
            rows = slice(start, min(start + BLOCK, len(frame)))
            watch.begin(rows.stop - rows.start)
            coded = (
                watch.column(i, frame[domain.columns[i].name].iloc[rows], coded_rows(rows))
                for i, coded_rows in enumerate(columns)
            )
            persons = persons_of(rows)
            block = block_of_columns(domain, coded, Multiplicities(rows.stop - rows.start), persons)
            watch.people([frame[name].iloc[rows] for name in contributions.columns], persons)
            yield block

    return watch.kept(reader.kept(coded_blocks()))


def blocks_of_matrix(
    matrix: NDArray[Any], domain: Domain, *, watch: Watch = NOT_WATCHED
) -> Callable[[], Iterator[CodedBlock]]:
    """What starts a stream of coded blocks of a matrix (records, d); one with a mask ends it in DataError.

    Column i holds codes 0 .. n_i-1 of the domain's i-th attribute, whatever its labels are, or the amounts themselves.
    Where the domain has weights, they follow in a last column.  DataError where it is not such a matrix of integers.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise DataError("an array of records must be a matrix of integer codes, one row per record")
    if matrix.shape[1] != len(domain.columns):
        weights = " and the weights in a last one" if domain.weight.columns else ""
        message = f"a matrix of codes needs one column per attribute, {len(domain)}{weights}; it has {matrix.shape[1]}"
        raise DataError(message)
    return lambda: watch.kept(_blocks(matrix, domain, watch))


def _blocks(matrix: NDArray[Any], domain: Domain, watch: Watch) -> Iterator[CodedBlock]:
    if isinstance(matrix, np.ma.MaskedArray):  # that entries are masked may follow from what they are
        raise DataError("an array of records must be a matrix without a mask; fill what is masked, or leave it out")
    matrix = np.asarray(matrix)  # of an np.matrix the columns would be matrices, too
    sizes = np.array(domain.sizes, dtype=np.int64)
    amounts = {position: numeric for position, each in enumerate(domain.attributes) if (numeric := each.numeric)}
    is_plain = not amounts and not domain.weight.columns
    for start in range(0, len(matrix), BLOCK):
        part, weights = np.split(matrix[start : start + BLOCK], [len(domain)], axis=1)
        watch.begin(len(part))
        if is_plain and (part.min(axis=0, initial=0) >= 0).all() and (part.max(axis=0, initial=0) < sizes).all():
            yield CodedBlock(
                np.ascontiguousarray(part.T.astype(code_type(domain))), frozenset(), Multiplicities(len(part))
            )
        else:
            known = (part >= 0) & (part < sizes)
            raw = np.where(known, part.astype(np.int64), UNKNOWN)
            for position, numeric in amounts.items():
                raw[:, position] = numeric.codes_of_numbers(part[:, position])
            columns = [*raw.T, *_codes_of_weights(domain, weights)]
            entries = matrix[start : start + BLOCK].T
            columns = [
                watch.column(i, given, codes) for i, (given, codes) in enumerate(zip(entries, columns, strict=True))
            ]
            yield block_of_columns(domain, columns, Multiplicities(len(part)))


def _codes_of_weights(domain: Domain, weights: NDArray[Any]) -> Iterator[IntArray]:
    for column, entries in zip(domain.weight.columns, weights.T, strict=True):
        codes_of = column.values.codes_of_column("numbers")
        if codes_of is not None:
            yield codes_of(entries)


def names_of_columns(domain: Domain, contributions: Contributions) -> list[str]:
    """The names of the columns that are read, each once."""
    return list(dict.fromkeys([*(column.name for column in domain.columns), *contributions.columns]))


def require_types_of(
    domain: Domain, contributions: Contributions, type_of: Callable[[str], Any], *, is_order_declared: bool = False
) -> None:
    """DataError where a column's type rules out what it is for; ``type_of`` gives Arrow types by name, None for any."""
    require_types(domain, [type_of(column.name) for column in domain.columns])
    types = [type_of(name) for name in contributions.columns]
    contributions.require_types(types, is_order_declared=is_order_declared)


def require_columns(names: Sequence[str], columns: Sequence[object]) -> None:
    """DataError unless each of ``names`` is one of ``columns``, once.

    The columns found are not listed: in a file without a header they are the values of a record.
    """
    found = [column for column in columns if isinstance(column, str)]
    there = set(found)
    missing = [name for name in names if name not in there]
    if missing:
        raise DataError(
            f"{names_text('column', missing, 'is', 'are')} missing from the data; columns are matched by exact name",
            column=missing[0],
        )
    twice = [name for name in names if found.count(name) > 1]
    if twice:
        found_twice = names_text("column", twice, "occurs", "occur")
        raise DataError(f"{found_twice} more than once in the data; keep one of each", column=twice[0])

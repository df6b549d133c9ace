"""Blocks of codes: the one way in which columns become codes, wherever the records are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import CodedColumn, require_type
from residualplanner.gate.sources.counting import BLOCK
from residualplanner.gate.sources.limited_records import NO_PERSONS, Contributions
from residualplanner.gate.sources.persons import PersonReader, require_person_types
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.rules import CodedBlock, Part, block_of_columns, code_type
from residualplanner.gate.sources.source import Source
from residualplanner.gate.sources.tally import Tally
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain, SchemaColumn
from residualplanner.method.domain.families import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd


#: What gives the codes of some entries of a column.
Read = Callable[[Any], IntArray]


def coded_blocks(
    domain: Domain,
    contributions: Contributions,
    parts: Iterable[Part],
    *,
    watch: Tally | None = None,
    reader_of: Callable[[SchemaColumn], Read] = lambda column: CodedColumn(column).read,
) -> Iterator[CodedBlock]:
    """A coded block for each part, which has the columns that `names_of_columns` names, of the records that count."""
    columns = [reader_of(column) for column in domain.columns]
    names = names_of_columns(domain, contributions)
    reader = PersonReader(contributions) if contributions.columns else None
    people = [names.index(name) for name in contributions.columns]

    def blocks() -> Iterator[CodedBlock]:
        for part in parts:
            pairs = zip(columns, part.columns, strict=False)
            codes: Iterable[IntArray] = (read(entries) for read, entries in pairs)
            if unknown := part.unknown:
                codes = (np.append(known, np.full(unknown, UNKNOWN)) for known in codes)
            persons = NO_PERSONS
            if reader is not None:
                persons = reader.read([part.columns[position] for position in people], unknown=unknown)
            if watch is not None:
                codes = [*codes]
                watch.note(part, codes, people, persons)
            yield block_of_columns(domain, codes, part.records, persons)

    kept = blocks() if reader is None else reader.kept(blocks())
    return kept if watch is None else watch.kept(kept)


def blocks_of_batches(
    domain: Domain,
    contributions: Contributions,
    batches: Iterable[Any],
    *,
    keys: Sequence[str | int] | None = None,
    watch: Tally | None = None,
) -> Iterator[CodedBlock]:
    """The same for Arrow record batches or small pandas frames, whose columns have other ``keys`` than their names."""
    chosen = names_of_columns(domain, contributions) if keys is None else keys
    parts = (Part([batch[key] for key in chosen], len(batch)) for batch in batches)
    return coded_blocks(domain, contributions, parts, watch=watch)


def batches_of_pandas(frame: "pd.DataFrame") -> "Iterator[pd.DataFrame]":
    """A pandas frame in frames of at most BLOCK records."""
    return (frame.iloc[start : start + BLOCK] for start in range(0, len(frame), BLOCK))


def source_of(data: NDArray[Any], domain: Domain, _: Contributions, watch: Tally | None) -> Source:
    """The records of a matrix (records, d).

    Column i holds codes 0 .. n_i-1 of the domain's i-th attribute, whatever its labels are, or the amounts themselves.
    Where the domain has weights, they follow in a last column.  DataError where it is not such a matrix of integers;
    whoever counts gets one where it has a mask.
    """
    if data.ndim != 2 or data.dtype.kind not in "iu":
        raise DataError("an array of records must be a matrix of integer codes, one row per record")
    if data.shape[1] != len(domain.columns):
        weights = " and the weights in a last one" if domain.weight.columns else ""
        message = f"a matrix of codes needs one column per attribute, {len(domain)}{weights}; it has {data.shape[1]}"
        raise DataError(message)

    def blocks() -> Iterator[CodedBlock]:
        parts = _parts_of_matrix(data, code_type(domain))
        return coded_blocks(domain, Contributions(), parts, watch=watch, reader_of=_reader_of_matrix)

    return source_of_blocks(domain, blocks)


def names_of(_: NDArray[Any]) -> tuple[object, ...]:
    """The names of the columns of a matrix, which has none."""
    return ()


def _parts_of_matrix(matrix: NDArray[Any], narrow: np.dtype[Any]) -> Iterator[Part]:
    if isinstance(matrix, np.ma.MaskedArray):  # that entries are masked may follow from what they are
        raise DataError("an array of records must be a matrix without a mask; fill what is masked, or leave it out")
    matrix = np.asarray(matrix)  # of an np.matrix the columns would be matrices, too
    for start in range(0, len(matrix), BLOCK):
        part = matrix[start : start + BLOCK]
        if part.min(initial=0) >= 0 and part.max(initial=0) <= np.iinfo(narrow).max:
            part = part.astype(narrow)  # which is turned, and read column by column, in a third of the time
        yield Part([*np.ascontiguousarray(part.T)], len(part))


def _reader_of_matrix(column: SchemaColumn) -> Read:
    codes_of: Read | None = column.values.codes_of_column("numbers")
    if codes_of is not None and not (isinstance(column, Attribute) and column.numeric is None):
        return codes_of
    size = column.size if isinstance(column, Attribute) else 0
    return lambda entries: np.where((entries >= 0) & (entries < size), entries.astype(np.int64), UNKNOWN)


def names_of_columns(domain: Domain, contributions: Contributions) -> list[str]:
    """The names of the columns that are read, each once."""
    return list(dict.fromkeys([*(column.name for column in domain.columns), *contributions.columns]))


def require_types_of(domain: Domain, contributions: Contributions, type_of: Callable[[str], Any]) -> None:
    """DataError where a column's type rules out what it is for; ``type_of`` gives Arrow types by name, None for any."""
    for column in domain.columns:
        if (kind := type_of(column.name)) is not None:
            require_type(column, kind)
    types = [type_of(name) for name in contributions.columns]
    if types:
        require_person_types(contributions, *types)


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

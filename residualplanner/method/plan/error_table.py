"""How accurate a plan is: the error table of all its queries, and the table of one query.

pandas and PyArrow are imported when one is made.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import AMONG, JOIN, TOTAL
from residualplanner.method.losses import Targets
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.table_accuracy import TableAccuracy, table_covariances
from residualplanner.method.workload.attribute_sets import QueryBlock, row_numbers
from residualplanner.method.workload.query import QueryLike, selection_text, written_query
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: How many rows are made at a time where all are not held at once.
_ROWS = 2**17


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """The error table of all queries of a workload, of which any rows can be made.

    Attributes:
        workload: the queries.
        accuracy: of them, with some noise.
        level: the confidence level of the margins of error.
        targets: for margins of error, if there are any.
    """

    workload: Workload
    accuracy: Accuracy
    level: float
    targets: Targets | None

    def __len__(self) -> int:
        return len(self.workload)

    def frame(self, first: int, last: int) -> "pd.DataFrame":
        """The rows of the queries from one number on up to another, as ``Plan.errors`` describes; errors as of that."""
        import pandas as pd

        rows, accuracy, factor = slice(first, last), self.accuracy, margin_factor(self.level)
        blocks = [block for _, block in self.workload.runs(first=first, last=last)]
        cells, std_err = self.workload.cells[rows], np.sqrt(accuracy.average_variances[rows])
        table = pd.DataFrame(
            {
                "query": query_names(self.workload, blocks),
                "kinds": pd.Categorical.from_codes(self._kinds[0][rows], categories=pd.Index(self._kinds[1])),
                "order": np.concatenate([self._is_axis[block.kinds].sum(axis=1) for block in blocks]),
                "cells": cells.astype(np.int64) if self.workload.cells.max() < 2**53 else cells,
                "weight": np.concatenate([block.weights for block in blocks]),
                "privacy_share": accuracy.privacy_shares[rows],
                "std_err": std_err,
                "max_std_err": np.sqrt(accuracy.max_variances[rows]),
                "moe": factor * std_err,
                "conf_level": np.full(len(cells), self.level),
                "expected_abs_error": math.sqrt(2 / math.pi) * accuracy.mean_std_errs[rows],
                "expected_max_abs_error": accuracy.max_abs_errors[rows],
            }
        )
        domain = self.workload.domain
        if self.workload.has_sums or domain.weight.unit_name:
            table["unit"] = [self.workload.query_at(number).unit(domain) for number in range(first, last)]
        if self.workload.has_sums:
            table["scale"] = self.workload.scales[rows]
        if self.targets is not None:
            table["target"] = self.targets.in_order(self.workload)[rows]
            is_met = self.targets.are_met(self.workload, accuracy.max_variances)[rows]
            table["meets_target"] = pd.Series(is_met, dtype="boolean").mask(table["target"].isna())
        return table

    def frames(self) -> "Iterator[pd.DataFrame]":
        """All rows, some hundred thousand at a time."""
        for first in range(0, len(self), _ROWS):
            yield self.frame(first, min(first + _ROWS, len(self)))

    @cached_property
    def _is_axis(self) -> NDArray[np.bool_]:
        return np.array([kind.is_axis for kind in self.workload.kinds])

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.int32], list[str]]:
        """The kinds of every query, joined in the order of its attributes: a code for each, (q,), and the words."""
        names = [kind.unselected.name for kind in self.workload.kinds]
        codes: list[NDArray[np.int32]] = []
        labels: dict[str, int] = {}
        for kinds in (block.written_kinds for block in self.workload.blocks):
            numbers = row_numbers(kinds)
            distinct = kinds[np.unique(numbers, return_index=True)[1]].tolist()
            words = [JOIN.join(names[code] for code in row if self._is_axis[code]) for row in distinct]
            codes.append(np.array([labels.setdefault(word, len(labels)) for word in words], dtype=np.int32)[numbers])
        return np.concatenate(codes), list(labels)


def query_table(accuracy: Accuracy, query: QueryLike) -> TableAccuracy:
    """Variances and covariances within the table of a query, with its axes as it is written."""
    domain, closure = accuracy.workload.domain, accuracy.workload.closure
    written = written_query(domain, query)
    positions = written.in_domain_order.positions
    if closure.position_of(positions) < 0:
        names = tuple(domain.names[position] for position in written.positions)
        raise WorkloadError(f"the plan does not answer {names!r}: add it to the workload and plan again")
    return accuracy.table(written)


def aligned_covariances(accuracy: Accuracy, query: QueryLike, other: QueryLike) -> FloatArray:
    """The covariance of every cell of a query's table with the one of another's that has its labels, (q_1, .., q_k)."""
    tables = query_table(accuracy, query), query_table(accuracy, other)
    written = [written_query(accuracy.workload.domain, each).in_domain_order for each in (query, other)]
    rows = dict(zip(written[0].positions, (axis.rows for axis in tables[0].axes), strict=True))
    for position, axis in zip(written[1].positions, tables[1].axes, strict=True):
        if axis.rows not in (1, rows.get(position, 1)):
            name = accuracy.workload.domain.names[position]
            raise WorkloadError(f"the table {query!r} has no cell for each of {other!r} on {name!r}; sum over it first")
    positions = tuple(np.array(each.positions, dtype=np.int64) for each in written)
    return table_covariances(*tables, (positions[0], positions[1]))


def query_names(workload: Workload, blocks: Sequence[QueryBlock]) -> Any:
    """The names of queries, as `WrittenQuery.words` has them, (m,)."""
    import pandas as pd
    import pyarrow as pa

    pieces = (block.part(slice(first, first + _ROWS)) for block in blocks for first in range(0, len(block), _ROWS))
    names = [_names(workload, piece) for piece in pieces]
    return pd.Series(pa.chunked_array(names, type=pa.large_string()).to_pandas())


def _names(workload: Workload, block: QueryBlock) -> Any:
    """The names of the queries of a block: of the attributes with an axis, and of the records that they are about."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, kinds, text = workload.domain.names, workload.kinds, pa.large_string()
    about = {
        (i, k): selection_text(names[i], kinds[k]) for i, k in np.argwhere(workload.uses).tolist() if kinds[k].where
    }
    number = np.zeros(workload.uses.shape, dtype=np.int64)
    number[tuple(np.array([*about], dtype=np.int64).reshape(-1, 2).T)] = np.arange(len(about))

    def joined(words: Iterable[str], which: NDArray[Any], chosen: NDArray[np.bool_], sign: str, *, none: str) -> Any:
        """Of each query the words at ``which`` (m, k), as far as they are ``chosen`` (m, k); a word where none is."""
        every, lacks = pa.array([*words, none], type=text), ~chosen.any(axis=1)
        if lacks.any():
            which, chosen = np.column_stack([which, lacks * (len(every) - 1)]), np.column_stack([chosen, lacks])
        # What is not chosen is null, and left out of what is joined.
        columns = [every.take(pa.array(each, mask=~some)) for each, some in zip(which.T, chosen.T, strict=True)]
        return pc.binary_join_element_wise(*columns, pa.scalar(sign, text), null_handling="skip")

    attributes, codes = block.written_attributes, block.written_kinds
    is_axis = np.array([kind.is_axis for kind in kinds])[codes]
    has_where = np.array([bool(kind.where) for kind in kinds])[codes]
    found = joined(names, attributes, is_axis, JOIN, none=TOTAL)
    if not has_where.any():
        return found
    universes = joined(about.values(), number[attributes, codes], has_where, ", ", none="")
    both = pc.binary_join_element_wise(found, universes, pa.scalar(AMONG, text))
    return pc.if_else(pc.equal(universes, ""), found, both)


#: The formats of error tables, which are the endings of their files.
ErrorFormat = Literal["csv", "parquet"]


def save_error_table(table: ErrorTable, path: PathLike) -> None:
    """Write all rows to a file, whole or not at all; errors as in `Plan.save_errors`."""
    ending = Path(path).suffix[1:]
    if ending not in get_args(ErrorFormat):
        raise FileFormatError(f"{path} is not the name of an error table; end it in .csv or .parquet")
    with write_atomically(path) as file:
        write_error_table(table, file, cast(ErrorFormat, ending))


def write_error_table(table: ErrorTable, file: IO[bytes], file_format: ErrorFormat) -> None:
    """Write all rows to an open file: as CSV with strings in quotes, or as Parquet."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    pieces = (pa.Table.from_pandas(frame, preserve_index=False) for frame in table.frames())
    first = next(pieces)
    schema, made = first.schema, pyarrow.parquet.ParquetWriter
    if file_format == "csv":  # which has no categories
        types = [each.value_type if pa.types.is_dictionary(each) else each for each in schema.types]
        schema, made = pa.schema(zip(schema.names, types, strict=True)), pyarrow.csv.CSVWriter
    with made(file, schema) as writer:
        for piece in chain([first], pieces):
            writer.write_table(piece.cast(schema))

"""Records that are codes already.

Reads: a NumPy matrix of integers, one row per record, one column per attribute.  Gives: coded blocks.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.domain import UNKNOWN, Domain
from residualplanner.errors import DataError
from residualplanner.sources.counting import BLOCK
from residualplanner.sources.rules import Block, block_of_raw_codes, code_type


def blocks_of_matrix(matrix: NDArray[Any], domain: Domain) -> Callable[[], Iterator[Block]]:
    """Coded blocks of a matrix of codes.

    Args:
        matrix (records, d): column i holds codes 0 .. n_i-1 of the domain's i-th attribute, whatever its labels are.
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
    for start in range(0, len(matrix), BLOCK):
        part = matrix[start : start + BLOCK]
        if (part.min(axis=0, initial=0) >= 0).all() and (part.max(axis=0, initial=0) < sizes).all():
            yield Block(np.ascontiguousarray(part.T.astype(code_type(domain))), frozenset())
        else:
            known = (part >= 0) & (part < sizes)
            raw = np.where(known, part.astype(np.int64), UNKNOWN)
            yield block_of_raw_codes(domain, list(raw.T), len(part))

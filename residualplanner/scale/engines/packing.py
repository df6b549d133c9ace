"""Counts of some cells as few bytes, for the way between workers.

Reads: counts.  Gives: bytes, and adds bytes to counts.
"""

from collections.abc import Iterator

import numpy as np

from residualplanner.ground.checks import IntArray

#: How many cells are packed together.  Spark hands thousands of rows to Python at a time, so that each must be short.
PIECE_CELLS = 2**13
#: In the first byte, beside how many bytes each count has: whether all cells follow, or those that are not zero.
_ALL, _LISTED = 0, 1


def pieces_of(counts: IntArray) -> Iterator[tuple[int, bytes]]:
    """Pack counts (cells,) in pieces of `PIECE_CELLS`: the numbers of those that are not all zero, and their bytes."""
    for number, start in enumerate(range(0, len(counts), PIECE_CELLS)):
        piece = counts[start : start + PIECE_CELLS]
        if piece.any():
            yield number, packed(piece)


def packed(counts: IntArray) -> bytes:
    """At most `PIECE_CELLS` counts (cells,), none negative: the cells that are not zero, or all if that is shorter.

    Example:
        >>> packed(np.array([0, 3, 1])).hex(" ")
        '10 00 03 01'
    """
    cells, width = np.flatnonzero(counts), np.min_scalar_type(counts.max(initial=0)).itemsize
    if len(cells) * (width + 2) < len(counts) * width:
        return (
            bytes([16 * width + _LISTED]) + cells.astype("<u2").tobytes() + counts[cells].astype(f"<u{width}").tobytes()
        )
    return bytes([16 * width + _ALL]) + counts.astype(f"<u{width}").tobytes()


def add_packed(content: bytes, counts: IntArray) -> None:
    """Add packed counts to those of the same cells, (cells,); nothing if there is no content."""
    if not content:
        return
    width, form = divmod(content[0], 16)
    if form == _ALL:
        counts += np.frombuffer(content, f"<u{width}", offset=1).astype(np.int64)
    else:
        listed = (len(content) - 1) // (width + 2)
        cells = np.frombuffer(content, "<u2", listed, offset=1)
        counts[cells] += np.frombuffer(content, f"<u{width}", listed, offset=1 + 2 * listed).astype(np.int64)

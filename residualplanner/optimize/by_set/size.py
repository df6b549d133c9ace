"""How large a search for bases by set is, from counts alone, so that one that is too large is refused at once.

Reads: counts.  Gives: SearchSize; raises WorkloadError.

The constants are those of one core of one machine; ``benchmarks/by_set.py`` prints what is said beside what is taken.
"""

from dataclasses import dataclass

from residualplanner.errors import WorkloadError
from residualplanner.workload import Workload

#: The most pairs of a query and a subset of its attributes, and the most seconds a search should take.
PAIR_LIMIT, SECONDS_LIMIT = 2**17, 100.0
#: How often loss, cost and slopes are computed, and seconds for each time: for each cell of a table of which a maximum
#: is taken; for each basis, with the cube of its directions; for each basis and table; for each pair.
_TIMES, _CELL, _CUBE, _PART, _PAIR = 1800, 1e-7, 7e-10, 8e-5, 2e-7


@dataclass(frozen=True, slots=True)
class SearchSize:
    """What a search works on.

    Attributes:
        pairs: of a query and a subset of its attributes.
        cells: of the tables of which maxima are taken, counting as one what no query tells apart.
        directions: how many queries depend on, for the attribute of each basis.
        parts: how many tables there are, for the cost and for the loss.
    """

    pairs: int
    cells: int
    directions: tuple[int, ...]
    parts: int

    @property
    def seconds(self) -> float:
        """How long the search takes, about.

        Example:
            >>> SearchSize(pairs=8, cells=600, directions=(29, 29, 19, 19), parts=3).seconds < 2
            True
        """
        cubes = sum(float(r) ** 3 for r in self.directions)
        parts = self.parts + len(self.directions)
        return _TIMES * (self.cells * _CELL + cubes * _CUBE + parts * _PART + self.pairs * _PAIR)

    def require_quick(self) -> None:
        """Raise WorkloadError if it takes too long."""
        if self.seconds > SECONDS_LIMIT:
            tables = f", {self.cells:,} cells in {self.parts:,} tables" if self.parts else ""
            raise WorkloadError(
                f"too large a search for bases by set, about {self.seconds:,.0f} seconds: {len(self.directions):,} "
                f"bases of up to {max(self.directions) + 1:,} values{tables}, "
                f'{self.pairs:,} pairs of a query and a part of it; plan with bases="optimal"'
            )


def pair_count(workload: Workload) -> int:
    """How many pairs of a query and a subset of its attributes there are.

    Raises:
        WorkloadError: more than `PAIR_LIMIT`.
    """
    pairs = sum(len(block) << order for order, block in enumerate(workload.blocks))
    if pairs > PAIR_LIMIT:
        raise WorkloadError(
            f"too large a search for bases by set: {pairs:,} pairs of a query and a part of it, the limit is "
            f'{PAIR_LIMIT:,}; plan with bases="optimal"'
        )
    return pairs

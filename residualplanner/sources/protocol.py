"""What every source of private counts can do.

Gives: Source and Progress, the two names that readers of counts need.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from residualplanner._checks import IntArray

#: Called with the number of tables done and the number of tables asked for; never told anything about records.
Progress = Callable[[int, int], None]


class Source(Protocol):
    """Confidential records, or counts of them, that can be asked for tables over a domain."""

    def count(self, groups: Sequence[IntArray], *, progress: Progress | None = None) -> list[IntArray]:
        """Count the records of each cell of each table.

        Args:
            groups: each (g, k): g sets of k ascending attribute positions, all of the same shape (n1, .., nk).
            progress: told how many tables are done.

        Returns:
            One array (g, n1, .., nk) per group; shapes depend on ``groups`` and the domain only.

        Raises:
            DataError: the records do not fit the domain.  The message names columns and rules, never a value, a record
                or a number of them; nor do the traceback's frames and the exception's context.

        Guarantees: each record adds exactly one to one cell of each table, or, where an attribute's rule is "drop",
        nothing to any table.
        """
        ...

"""What is expected of workers that count records and draw noise, so that no count leaves them.

Reads: tasks, which follow from a plan alone.  Gives: receipts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from residualplanner.ground.checks import IntArray

#: Called with a task's number and its tables, one array (g, n_1, .., n_k) for each of its groups; gives a receipt.
Draw = Callable[[int, list[IntArray]], bytes]


@dataclass(frozen=True, eq=False, slots=True)
class CountingTask:
    """Some tables that one worker adds up; it is sent to the workers, and holds no record.

    A plan's tasks follow from the plan alone.  All tables of a task, and those that are summed down from them, have at
    most ``2**22`` cells together; a larger table is a task of its own.

    Attributes:
        number: of the task, from 0.
        groups: each (g, k): g sets of k ascending attribute positions, all of the same shape (n_1, .., n_k).
    """

    number: int
    groups: tuple[IntArray, ...]


class Cluster(Protocol):
    """Records, and the workers that count them."""

    def require_ready(self) -> None:
        """Raise ResourceError where records can be read only once; of workers `require_ready_engine` asks."""
        ...

    def check(self, tasks: Sequence[CountingTask], *, is_trusted: bool = False) -> None:
        """Raise what counting the tasks would raise for the records' sake: read them, and check every column.

        Called before the ledger is charged.  Workers send no count: only which columns break which rules.

        Args:
            tasks: what will be counted.
            is_trusted: whether to do without where it takes a reading of its own.

        Raises:
            DataError: the records do not fit the schema, or the engine failed.
        """
        ...

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """Count each task's tables where the records are, add them up at one worker, and call ``draw`` there.

        Args:
            tasks: what to count.
            draw: called with the number of a task and its counts, as `Source.count` gives them; it is sent to the
                workers (with pickle or cloudpickle), and holds no record.  It raises nothing, and is called only where
                all records fit the schema.

        Returns:
            What ``draw`` returned for each task, some hundred bytes each, in the order of ``tasks``.

        Raises:
            DataError: the records do not fit the schema, or the engine failed.  Some tasks may have been drawn.

        Guarantees: counts stay with the workers, and what ``draw`` does is the last thing that is done with them.  A
            task may be attempted more than once, one attempt after another.  When this returns or raises, the engine
            has reported every attempt as ended.
        """
        ...

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call a function at the workers with each number: post-processing, which reads no record.

        Args:
            function: sent to the workers.  It may be called several times with one number, at the same time, too.
            numbers: its arguments.

        Returns:
            What it returned for each number, in their order.

        Raises:
            ResourceError: the engine failed.
        """
        ...

"""One worker, the process itself, for any records.

Reads: a source of counts.  Gives: Cluster.
"""

from collections.abc import Callable, Sequence
from typing import final

from residualplanner.sources.clusters.cluster import CountingTask, Draw
from residualplanner.sources.source import Source


@final
class LocalCluster:
    """Records that this process counts, task after task; they are read once for each task.

    Args:
        source: the records.
    """

    def __init__(self, source: Source) -> None:
        self._source = source

    def require_ready(self, tasks: Sequence[CountingTask]) -> None:
        """Nothing can be wrong with it that is not found elsewhere."""
        del tasks

    def draw(self, tasks: Sequence[CountingTask], draw: Draw) -> list[bytes]:
        """Count and draw one task after another; DataError where the records do not fit the schema."""
        return [draw(task.number, self._source.count(list(task.groups))) for task in tasks]

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call the function with each number."""
        return [function(number) for number in numbers]

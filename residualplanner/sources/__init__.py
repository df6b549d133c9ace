"""Private counts behind one protocol: how many records fall in each cell of the tables asked for.

Everything here holds confidential data; only the measurement layer may import it.
"""

from residualplanner.sources.counting import count_groups
from residualplanner.sources.csv_files import CsvFile
from residualplanner.sources.engines import require_result_room
from residualplanner.sources.opening import open_source
from residualplanner.sources.source import Progress, Source

__all__ = ["CsvFile", "Progress", "Source", "count_groups", "open_source", "require_result_room"]

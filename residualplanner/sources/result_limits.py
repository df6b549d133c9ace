"""What an engine sends to this process at most: compared with what it may have to send, before anything is charged.

Reads: settings of an engine's session, never its records.  Gives: ResourceError, or nothing.
"""

import re
from typing import Any

from residualplanner.errors import ResourceError

#: Bytes that Spark sends for each cell: its number and its count, and their share of the batch around them.
COUNT_BYTES = 17
_SETTING, _DEFAULT = "spark.driver.maxResultSize", "1g"
_SIZE = re.compile(r"([0-9]+)\s*([kmgtp]?)b?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}


def require_result_room(data: object, cells: int) -> None:
    """Raise ResourceError where an engine would refuse to send the counts of all cells.

    How many cells are not empty depends on the records, so that all are reckoned with.

    Args:
        data: the records; of anything but a PySpark frame nothing is asked.
        cells: how many there are in all tables that are counted.
    """
    if not any(cls.__module__.startswith("pyspark.sql") for cls in type(data).__mro__):
        return
    limit, needed = spark_limit(data), cells * COUNT_BYTES
    if limit is not None and limit < needed:
        raise ResourceError(
            f"Spark may have to send {cells:,} counts, {needed:,} bytes, and sends at most {limit:,} "
            f"({_SETTING}); nothing was charged or read.  Start the session with {_SETTING}={needed // 2**20 + 1}m or "
            "more, or ask for fewer or smaller tables"
        )


def spark_limit(frame: Any) -> int | None:
    """How many bytes a PySpark frame's session sends to its driver at most; None for no limit, or one not known."""
    try:
        text = frame.sparkSession.conf.get(_SETTING, _DEFAULT)
    except Exception:  # noqa: BLE001 - a session that does not tell its settings fails by itself, or does not
        return None
    return size_of_text(str(text))


def size_of_text(text: str) -> int | None:
    """The bytes that a size means as Spark writes it; None for 0, which means no limit, and for what is no size.

    Example:
        >>> size_of_text("1g"), size_of_text("512MB"), size_of_text("100"), size_of_text("0")
        (1073741824, 536870912, 100, None)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] or None if found else None

"""The Python workers of a Spark session, classic or over Spark Connect.

Reads: a session.  Gives: SparkWorkers.
"""

import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, final

from residualplanner.errors import ResourceError
from residualplanner.workers.workers import require_equal_versions, versions

#: Spark's Python client writes its errors to these, and py4j what passes between Python and Java: all quote values.
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
_LIMIT, _DEFAULT_LIMIT = "spark.driver.maxResultSize", "1g"
_SPECULATION = "spark.speculation"
_SIZE = re.compile(r"([0-9]+)\s*([kmgtp]?)b?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
#: How many tasks ask for versions, so that they reach several workers.
_PROBES = 8


@final
class SparkWorkers:
    """The Python workers of a Spark session.

    They need the version of Python and of this library that this process has; ``PYSPARK_PYTHON`` says which Python
    Spark starts.

    Args:
        session: a ``SparkSession``, classic or over Spark Connect.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"SparkWorkers(<{type(self._session).__name__}>)"

    def require_ready(self) -> None:
        """Raise ResourceError if the workers do not have the versions of Python and this library that are here."""
        try:
            probe = self._session.range(0, _PROBES, 1, _PROBES).mapInArrow(_versions, "python string, library string")
            rows = self.collect(probe).to_pylist()
        except Exception:  # noqa: BLE001 - whatever the cause is, the remedy is the same
            raise ResourceError(
                "Spark's workers cannot run this library; install it there, for the same version of Python, which "
                "PYSPARK_PYTHON names"
            ) from None
        require_equal_versions([(row["python"], row["library"]) for row in rows], "Spark")

    def require_single_attempts(self) -> None:
        """Raise ResourceError if Spark is set to start slow tasks a second time."""
        if self._setting(_SPECULATION, "false").strip().lower() != "false":
            raise ResourceError(
                f"Spark is set to start slow tasks a second time ({_SPECULATION}), and then noise might be drawn "
                f"twice; start the session with {_SPECULATION}=false"
            )

    @property
    def result_bytes(self) -> int | None:
        """How many bytes the session sends to its driver at most; None for no limit, or one not known."""
        return size_of_text(self._setting(_LIMIT, _DEFAULT_LIMIT))

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call a function with each number, a run of consecutive ones at each worker; ResourceError if Spark fails."""
        if not numbers:
            return []
        frame = self._session.range(len(numbers)).mapInArrow(
            _calling(function, list(numbers)), "id long, result binary"
        )
        try:
            table = self.collect(frame)
        except Exception as error:
            message = f"Spark failed: {type(error).__name__}; its logs say why.  Its workers need this library"
            raise ResourceError(message) from error
        found = dict(zip(table["id"].to_pylist(), table["result"].to_pylist(), strict=True))
        return [found[number] for number in range(len(numbers))]

    def collect(self, frame: Any) -> Any:
        """The rows of a frame as a ``pyarrow.Table``; nothing of them is logged, and failing ends the engine's work."""
        tag = f"residualplanner-{secrets.token_hex(16)}"
        self._session.addTag(tag)
        try:
            with unlogged():
                return frame.toArrow()
        except BaseException:
            with suppress(Exception):
                self._session.interruptTag(tag)
            raise
        finally:
            self._session.removeTag(tag)

    def _setting(self, name: str, default: str) -> str:
        """A setting of the session, or the default where it is not set or cannot be read."""
        try:
            return str(self._session.conf.get(name, default))
        except Exception:  # noqa: BLE001 - a session without readable settings reports a limit itself, if it has one
            return default


def size_of_text(text: str) -> int | None:
    """How many bytes a size is, as Spark writes it; None for 0, which means no limit, and for what is not a size.

    Example:
        >>> size_of_text("1g"), size_of_text("512MB"), size_of_text("100"), size_of_text("0")
        (1073741824, 536870912, 100, None)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] or None if found else None


@contextmanager
def unlogged() -> Iterator[None]:
    """Spark's Python client logs nothing inside, in all threads."""
    from pyspark.logger import PySparkLogger  # its loggers accept keywords that others do not

    loggers = [*map(PySparkLogger.getLogger, _LOGGERS), logging.getLogger("py4j")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _versions(batches: Iterable[Any]) -> Iterator[Any]:
    """The versions at a worker, for each batch of records."""
    import pyarrow as pa

    python, library = versions()
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"python": [python], "library": [library]})


def _calling(function: Callable[[int], bytes], numbers: list[int]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What calls a function with the numbers at some positions."""

    def call(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for position in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"id": [position], "result": [function(numbers[position])]})

    return call

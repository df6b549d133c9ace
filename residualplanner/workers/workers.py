"""What is expected of an engine's workers, and what they must have in common with this process.

Reads: nothing.  Gives: Workers.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from residualplanner._version import __version__
from residualplanner.errors import ResourceError

#: Versions of Python and of this library.
Versions = tuple[str, str]


class Workers(Protocol):
    """Processes that call a function which is sent to them."""

    def require_ready(self) -> None:
        """Raise ResourceError if the workers do not have the versions of Python and this library that are here."""
        ...

    def require_single_attempts(self) -> None:
        """Raise ResourceError if the engine is set to start a task again that has not failed."""
        ...

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> Iterable[bytes]:
        """Call a function with each number.

        Args:
            function: it is pickled, and may be called several times with one number.
            numbers: its arguments.

        Returns:
            What it returned for each number, in their order: no more than some hundred bytes each.  A list; or, where
            results come one by one, a generator, which ends the work when it is closed.

        Raises:
            ResourceError: the engine failed.
        """
        ...


def versions() -> Versions:
    """The versions in this process."""
    return f"{sys.version_info.major}.{sys.version_info.minor}", __version__


def require_equal_versions(found: Iterable[Versions], engine: str) -> None:
    """Raise ResourceError unless all workers of an engine have the versions of this process."""
    own = versions()
    others = sorted({theirs for theirs in found if theirs != own})
    if others:
        theirs = " and ".join(f"Python {python} with residualplanner {library}" for python, library in others)
        raise ResourceError(
            f"{engine}'s workers have {theirs}; this process has Python {own[0]} with residualplanner {own[1]}.  "
            "Install the same there"
        )

"""Kinds of steps of a program: two are one kind if the same lines of the package have led to the same call."""

from pathlib import Path
from types import FrameType

import residualplanner

_PACKAGE = str(Path(residualplanner.__file__).parent)
Kind = tuple[object, ...]


def kind_of_step(call: str, frame: FrameType | None) -> Kind:
    """The call, and the lines of the package that have led to it, the innermost first."""
    lines: list[object] = [call]
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            lines += [frame.f_code, frame.f_lineno]
        frame = frame.f_back
    return tuple(lines)


class CountDown:
    """Counts kinds of steps, each when it comes first, until so many have come."""

    def __init__(self, kinds: int) -> None:
        self._left = kinds
        self._seen: set[Kind] = set()

    def is_over(self, call: str, frame: FrameType | None) -> bool:
        """Whether this step is the first one of a kind, and of more kinds than were to come."""
        kind = kind_of_step(call, frame)
        if kind in self._seen:
            return False
        self._seen.add(kind)
        self._left -= 1
        return self._left < 0

"""What a command does, as steps: each checks, says what it would do, and does it; ``--dry-run`` leaves out the last.

Whatever can be refused is refused by a check, before records are opened and before anything is spent.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from residualplanner.gate.measurement.resource_estimate import seconds_text
from residualplanner.ground.words import bytes_text
from residualplanner.shell.cli.output import Output

#: The memory of the program before it works on anything, in bytes: measured, and rounded up.
_AT_REST = 2**28


class Effort(NamedTuple):
    """What a step would take, but for the counting, as that depends on the records."""

    seconds: float = 0.0
    memory: float = 0.0  # bytes
    disk: int = 0  # bytes
    is_counting: bool = False


class Step(Protocol):
    """A part of what a command does, which makes one file or folder."""

    @property
    def path(self) -> Path:
        """The file or folder."""

    def check(self) -> None:
        """Refuse what can be refused without a record; nothing is spent, and nothing stays written."""

    def say(self) -> Effort:
        """Say what would be read, spent and written."""

    def do(self) -> None:
        """Do it, and say what was done."""


def carry_out(steps: Sequence[Step], output: Output, *, dry_run: bool) -> None:
    """Check all steps, the last one first; then do them, or say what they would do."""
    for step in reversed(steps):  # what a spec says of its tables is refused before the file of records is looked at
        step.check()
    if dry_run:
        _say_efforts([step.say() for step in steps], steps[-1].path, output)
        return
    for step in steps:
        step.do()


def say_reading(paths: Sequence[Path], output: Output) -> None:
    """Say which noisy answers would be read, which costs nothing."""
    for path in paths:
        output.fact("Would read", f"{path}: noisy answers, no records", event="would-read", path=path)
    output.fact("Would spend", "nothing: this is post-processing", event="would-spend", pcost=0)


def say_writing(path: Path | str, text: str, output: Output, *, size: int) -> None:
    """Say what would be written, of about so many bytes."""
    output.fact("Would write", f"{path}: {text}", event="would-write", path=path, bytes=size)


def _say_efforts(efforts: Sequence[Effort], path: Path, output: Output) -> None:
    """Say what all steps would take together, that it was a rehearsal, and whether the disk has room."""
    seconds, memory = sum(each.seconds for each in efforts), max(each.memory for each in efforts)
    if memory:
        counting = " in addition to the counting" if any(each.is_counting for each in efforts) else ""
        memory += _AT_REST
        text = f"{seconds_text(seconds)}{counting}, and some {bytes_text(memory)} of memory"
        output.fact("Would take", text, event="would-take", seconds=seconds, bytes=int(memory))
    free, size = shutil.disk_usage(path.absolute().parent).free, sum(each.disk for each in efforts)
    if free < size:
        text = f"Warning: the disk has {bytes_text(free)} free, and some {bytes_text(size)} are to be written."
        output.say(text, event="warning", free=free)
    output.say(
        "No record was read, and nothing was spent or written.  All that can be checked without that is in order"
        f"{'' if free >= size else ', except for the disk'}.",
        event="dry-run",
    )
    output.say("Next: the same command without --dry-run", event="next")

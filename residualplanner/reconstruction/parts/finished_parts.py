"""Which parts of an unfinished release are complete: what each was when it was written stands in a file beside it.

Reads: the hidden folder of a run that was interrupted, in which a disk or a program may have altered bytes.
Gives: what a part is, if it is still what was written.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from residualplanner._atomic import write_atomically
from residualplanner.errors import FileFormatError
from residualplanner.reconstruction.parts.part_file import PartFile, part_file_of_bytes

#: The folder within the hidden one with a file for each part; no release has it.
HASHES = "hashes"


def state_part(part: Path, file: PartFile) -> None:
    """Write down what a part will be; done before the part itself is written, so that none is there without it."""
    with write_atomically(_statement(part)) as statement:
        statement.write(file.to_bytes())


def finished_part(part: Path, content: bytes) -> PartFile | None:
    """What a part is, if these are the bytes that were to be written; None where that is not stated, or others were."""
    try:
        stated = part_file_of_bytes(_statement(part).read_bytes())
    except (OSError, ValueError, TypeError, FileFormatError):  # absent, or damaged as the part may be
        return None
    return stated if hashlib.sha256(content).hexdigest() == stated.sha256 else None


@contextmanager
def hashes_aside(folder: Path) -> Iterator[None]:
    """Take the folder of hashes out of an unfinished release while the block gives the release its name.

    A process that is killed meanwhile leaves them beside it, where `recover_hashes` finds them.
    """
    aside = _aside(folder)
    os.rename(folder / HASHES, aside)
    yield
    shutil.rmtree(aside)


def recover_hashes(folder: Path) -> None:
    """See that there is a folder of hashes: the one that a killed process had taken out, if it had."""
    if _aside(folder).is_dir() and not (folder / HASHES).exists():
        os.rename(_aside(folder), folder / HASHES)
    (folder / HASHES).mkdir(exist_ok=True)


def _statement(part: Path) -> Path:
    return part.parent.parent / HASHES / f"{part.stem}.json"


def _aside(folder: Path) -> Path:
    return folder.with_suffix(f".{HASHES}")

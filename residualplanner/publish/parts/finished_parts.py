"""Which parts of an unfinished release are complete: what each was when it was written stands in a file beside it.

Reads: the hidden folder of a run that was interrupted, in which a disk or a program may have altered bytes.
Gives: what a part is, if it is still what was written.
"""

import hashlib

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.parts.part_file import PartFile, part_file_of_bytes

#: The folder within the hidden one with a file for each part; no release has it.
HASHES = "hashes"


def state_part(folder: AnyPath, part: int, file: PartFile) -> None:
    """Write down what a part will be; done before the part itself is written, so that none is there without it."""
    with write_atomically(_statement(folder, part)) as statement:
        statement.write(file.to_bytes())


def finished_part(folder: AnyPath, part: int, content: bytes) -> PartFile | None:
    """What a part is, if these are the bytes that were to be written; None where that is not stated, or others were."""
    try:
        stated = part_file_of_bytes(_statement(folder, part).read_bytes())
    except (OSError, ValueError, TypeError, FileFormatError):  # absent, or damaged as the part may be
        return None
    return stated if hashlib.sha256(content).hexdigest() == stated.sha256 else None


def _statement(folder: AnyPath, part: int) -> AnyPath:
    return folder / f"{HASHES}/part-{part:06}.json"

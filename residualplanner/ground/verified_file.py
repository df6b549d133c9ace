"""A file whose hashes have been compared, so that nobody on this machine has to read all of it for that again."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from residualplanner.ground.atomic import PathLike

#: Times of files are no finer than this on any file system in use: FAT's are even numbers of seconds.
_TIME_STEP = 2 * 10**9
#: Files of so many bytes take longer to read than `settle` waits.
_WORTH_WAITING_FOR = 2**31


@dataclass(frozen=True, slots=True)
class FileState:
    """What the file system says of a file, and says differently after every change of its content.

    Attributes:
        device: which file system the file is in, as a number of this machine.
        inode: the file's number there.
        size: in bytes.
        modified_ns: when its content was last written, which programs can set to any time.
        changed_ns: when the system last noted a change of content, name or rights, which only the system sets; on
            Windows when the file was made.
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    def is_settled(self, now_ns: int) -> bool:
        """Whether a change from now on gets other times than those that are stated here."""
        return max(self.modified_ns, self.changed_ns) + _TIME_STEP < now_ns


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A file whose hashes have been compared with its content, and what the file system said of it at that time.

    It may be sent to other processes.  There the file is taken for verified if the file system says the same of it:
    another file under its name, a file on another machine, or one that was written since is not.

    This finds what careless users and programs do to a file while it is in use: copy over it, restore it, edit it, also
    where they put the time of the last write back.  It does not find who writes to the disk past the file system or
    sets the machine's clock back; that takes more than the rights of the user, who could as well write other results.

    Attributes:
        path: absolute, or in a bucket, where nothing is known of later changes.
        state: None where a later change might not show, because the file had only just been written.
        hashes: the SHA-256 of each array in it, by name.
    """

    path: Any
    state: FileState | None
    hashes: Mapping[str, str]

    def is_unchanged(self) -> bool:
        """Whether the file that has the name now is the one that was verified, not written since."""
        try:
            return self.state is not None and state_of(os.stat(self.path)) == self.state
        except OSError:
            return False


def settle(path: PathLike) -> None:
    """Where a large file was written a moment ago, wait the two seconds after which later changes will show."""
    state = state_of(os.stat(path))
    latest = max(state.modified_ns, state.changed_ns)
    if state.size >= _WORTH_WAITING_FOR:
        time.sleep(min(max(0, latest + _TIME_STEP - time.time_ns()), _TIME_STEP) / 10**9)


def state_of(status: os.stat_result) -> FileState:
    """What the file system says of a file, of what ``os.stat`` or ``os.fstat`` has returned."""
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

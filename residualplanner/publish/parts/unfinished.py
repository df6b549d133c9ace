"""Where the files of a release in parts are until it is whole: a hidden folder, or the bucket itself."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from residualplanner.ground.atomic import force_name, require_free_folder, write_atomically
from residualplanner.ground.stores import AnyPath, BucketPath
from residualplanner.publish.parts.part_file import HASHES
from residualplanner.release.layout import PARTS

#: The object of a bucket that says which release is being written there; no release has it.
_MARK = "unfinished.txt"


@contextmanager
def unfinished(target: AnyPath, digest: str) -> Iterator[AnyPath]:
    """Where the files of a release are written, which is whole at ``target`` when the block ends.

    Where parts are there when the block raises, or the process is killed, they stay for the next run of the same
    release; of all else nothing stays.

    Args:
        target: of the release.
        digest: of what the release is, in hexadecimal digits.

    Raises:
        FileExistsError: there is something at ``target``, and it is no unfinished release of this digest.
        OSError: it cannot be written.
    """
    where = _in_folder(target, digest) if isinstance(target, Path) else _in_bucket(target, digest)
    with where as folder:
        for path in folder.iterdir():  # what a run writes last, and a run that was killed may have left half written
            if path.name not in (PARTS, HASHES, _MARK):
                path.unlink()
        try:
            yield folder
        except BaseException as error:
            if any((folder / PARTS).iterdir()):
                error.add_note(
                    f"the parts that are written are in {folder}: saving the same measurement to {target} again goes "
                    "on from there; remove that folder if it is not to be finished"
                )
            raise


@contextmanager
def _in_folder(target: Path, digest: str) -> Iterator[Path]:
    """A hidden folder beside the target, which gets its name."""
    require_free_folder(target)
    hidden = target.parent / f".{target.name[:50]}.{digest[:16]}.unfinished"
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    (hidden / PARTS).mkdir(parents=True, exist_ok=True)
    # A process that is killed while it gives the release its name leaves the hashes beside it.
    aside = hidden.with_suffix(f".{HASHES}")
    if aside.is_dir() and not (hidden / HASHES).exists():
        os.rename(aside, hidden / HASHES)
    (hidden / HASHES).mkdir(exist_ok=True)
    try:
        yield hidden
    except BaseException:
        if not any((hidden / PARTS).iterdir()):
            shutil.rmtree(hidden)
        raise
    os.rename(hidden / HASHES, aside)
    if target.is_dir():
        target.rmdir()
    os.rename(hidden, target)
    force_name(target)
    shutil.rmtree(aside)


@contextmanager
def _in_bucket(target: BucketPath, digest: str) -> Iterator[BucketPath]:
    """The target itself, with a mark until the release is whole: without a manifest it is none."""
    mark = target / _MARK
    if any(target.iterdir()) and not (mark.is_file() and mark.read_bytes() == digest.encode("ascii")):
        raise FileExistsError(f"{target} is not empty; name a new prefix, or empty this one first")
    with write_atomically(mark) as file:
        file.write(digest.encode("ascii"))
    try:
        yield target
    except BaseException:
        if not any((target / PARTS).iterdir()):
            _empty(target)
        raise
    _empty(target / HASHES)
    mark.unlink()


def _empty(folder: BucketPath) -> None:
    """Remove all objects below a folder."""
    for name in folder.bucket.names(f"{folder.key}/" if folder.key else ""):
        BucketPath(folder.bucket, name).unlink()

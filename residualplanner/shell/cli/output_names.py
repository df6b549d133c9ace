"""The names of what a command writes: all different, and none that promises another kind of file.

Reads: paths, as typed.  Gives: refusals before any work.
"""

from itertools import combinations
from pathlib import Path

from residualplanner.ground.errors import ArgumentError
from residualplanner.ground.file_kinds import FileKind, kind_of_name


def require_apart(folder: Path, *files: Path) -> None:
    """Raise ArgumentError unless a new folder and files have paths of their own, and no file is to be in the folder.

    The folder is made at once with all that is in it, after the files: it could not be made if one were there.

    Example:
        >>> require_apart(Path("out"), Path("out.measurement"), Path("ours.ledger"))
        >>> require_apart(Path("out"), Path("out/kept.measurement"))
        Traceback (most recent call last):
        ...
        residualplanner.ground.errors.ArgumentError: out/kept.measurement is in the folder out, which ...
    """
    require_different(folder, *files)
    for path in files:
        if folder.resolve() in path.resolve().parents:
            text = f"{path} is in the folder {folder}, which has to be new or empty; name a file elsewhere"
            raise ArgumentError(text)


def require_different(*paths: Path) -> None:
    """Raise ArgumentError if two outputs have the same path.

    Example:
        >>> require_different(Path("out"), Path("./out"))
        Traceback (most recent call last):
        ...
        residualplanner.ground.errors.ArgumentError: out would be two things at once; give each a name of its own
    """
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve():
            raise ArgumentError(f"{other} would be two things at once; give each a name of its own")


def require_kind_of_name(path: Path, kind: FileKind, remedy: str) -> None:
    """Raise ArgumentError if the ending of a name promises another kind of file than is written there.

    Example:
        >>> from residualplanner.ground.file_kinds import PAGE
        >>> require_kind_of_name(Path("people.csv"), PAGE, "end it in .html")
        Traceback (most recent call last):
        ...
        residualplanner.ground.errors.ArgumentError: people.csv would be taken for a CSV file; end it in .html
    """
    promised = kind_of_name(path)
    if promised not in (None, kind):
        raise ArgumentError(f"{path} would be taken for {promised.name.partition(';')[0]}; {remedy}")

"""The version that files are written in, and what to do about a file of another."""

from typing import Any

from residualplanner.ground.errors import FileFormatError

#: Of every file that this library writes; a change that older readers cannot read makes it 2.
FORMAT_VERSION = 1
#: What to do about a file from before 1.0, by its kind.
_REMEDIES = {
    "plan": "make the plan again with this version",
    "measurement": "read it with the version that made it, since to measure again would spend the budget again",
    "release": "read it with the version that made it, or its tables, which are plain files, with any program",
}


def require_version(number: Any, made_by: Any, *, kind: str, where: str = "") -> None:
    """Raise FileFormatError, which says what to do, unless a file of a ``kind`` is of the version that is read.

    Before 1.0 files had numbers of their own, up to 8.  They are told from later ones by the version of the package
    that they were ``made_by``, where they state it.
    """
    if type(number) is int and number == FORMAT_VERSION:
        return
    is_early = isinstance(made_by, str) and made_by.startswith("0.")
    if type(number) is int and number > FORMAT_VERSION and not is_early:
        what = f"written by a newer version (format {number}, this reads {FORMAT_VERSION})"
        raise FileFormatError(f"{where}{what}; update the package residualplanner")
    maker = f"version {made_by[:20]}, which was" if is_early else "a version"
    message = f"{where}format {str(number)[:9]} was written by {maker} before 1.0, and is no longer read"
    raise FileFormatError(f"{message}; {_REMEDIES.get(kind, 'read it with the version that made it')}")

"""The files of a release folder as they are read: their hashes compared, their size limited."""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from residualplanner.ground.errors import FileFormatError, ResidualPlannerError
from residualplanner.ground.json import parse_json
from residualplanner.ground.stores import AnyPath

Checked = TypeVar("Checked")
#: What to do about a folder that is damaged.
AGAIN = "copy the folder again, or save the release again"


def checked(path: AnyPath, check: Callable[[], Checked]) -> Checked:
    """The result of a check of a file; a refusal names the file."""
    try:
        return check()
    except ResidualPlannerError as error:
        raise FileFormatError(f"{path}: {error}; {AGAIN}") from None


def content_of(folder: AnyPath, name: str, digest: object) -> bytes:
    """The bytes of a file of the folder, after its hash has been compared."""
    path = folder / name
    if not path.is_file():
        raise FileFormatError(f"{path} is missing; {AGAIN}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise FileFormatError(f"{path} was altered: its SHA-256 is not the one in the manifest or index; {AGAIN}")
    return content


def json_of(path: AnyPath, content: bytes) -> Any:
    """The JSON values in the bytes of a file."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; {AGAIN}") from None
    return checked(path, partial(parse_json, text))

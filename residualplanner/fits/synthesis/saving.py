"""Files of synthetic records: their columns, and what they say of themselves."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.checks import IntArray, require_path
from residualplanner.ground.errors import ArgumentError
from residualplanner.method.domain.attribute import Attribute

if TYPE_CHECKING:
    import pandas as pd

#: What every file of synthetic records says of them.
STATEMENT = (
    "Synthetic records: none is that of a person. They were made from the noisy answers of a release alone, as "
    "post-processing, which costs no privacy budget: whatever is promised for the release holds for them, and no more. "
    "Their tables are near those that were measured; what they say beyond these is a model's assumption. Standard "
    "errors computed from them as if they were records of people are too small."
)
#: What the JSON file is about.
_KIND = "synthetic records"
#: The most bytes of it that are parsed; a longer file is taken for one of another kind.
_LONGEST = 1 << 24


def column_of(attribute: Attribute, codes: IntArray) -> NDArray[Any]:
    """The entries of a column for codes (n,): labels, integers and floats as such, all others as objects."""
    labels = attribute.value_labels
    if all(type(label) in (int, float) for label in labels):
        return np.array(labels)[codes]
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return np.asarray(found[codes])


def save_frames(
    file: PathLike, describe: Callable[[str, str], dict[str, Any]], guarantee: str, frames: Iterable["pd.DataFrame"]
) -> None:
    """Write frames, one after another, to a ``.csv`` or ``.parquet`` file, and what it is by name and hash as JSON."""
    path = require_records_file(file)
    with write_atomically(path) as target:
        if path.suffix == ".csv":
            _write_csv(target, frames)
        else:
            _write_parquet(target, frames, guarantee)
        target.flush()
        with open(target.name, "rb") as written:
            described = {"kind": _KIND} | describe(path.name, hashlib.file_digest(written, "sha256").hexdigest())
        # First, so that a run that is killed between the two leaves no records without what is said of them.
        with write_atomically(sidecar_path(path)) as sidecar:
            sidecar.write(json.dumps(described, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def require_records_file(file: PathLike) -> Path:
    """The path of a file of records, or ArgumentError unless its name ends with ``.csv`` or ``.parquet``."""
    require_path("save", file, 'save("records.parquet")')
    path = Path(file)
    if path.suffix not in (".csv", ".parquet"):
        raise ArgumentError(f'save: the name of the file must end with ".csv" or ".parquet", got {path.name!r}')
    return path


def sidecar_path(file: Path) -> Path:
    """The path of the JSON file beside a file of records: that with ``.json`` added."""
    return file.with_name(f"{file.name}.json")


def is_sidecar(path: Path) -> bool:
    """Whether a file is what `save_frames` writes beside records."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == _KIND


def _write_csv(file: IO[bytes], frames: Iterable["pd.DataFrame"]) -> None:
    # All text in quotes: some readers take "" without them for missing, others lose a "\r".
    how: dict[str, Any] = {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC}
    for number, frame in enumerate(frames):
        file.write(frame.to_csv(index=False, header=number == 0, **how).encode())


def _write_parquet(file: IO[bytes], frames: Iterable["pd.DataFrame"], guarantee: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    first = next(tables)
    schema = first.schema.with_metadata({**first.schema.metadata, "statement": STATEMENT, "guarantee": guarantee})
    with pq.ParquetWriter(file, schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table.cast(schema))

"""A release as a folder of tidy files, whole or not at all.  PyArrow's home in this layer.

Reads: a release.  Gives: files.  Holds a few tables at a time, however many there are.
"""

import hashlib
import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner._checks import frozen
from residualplanner._version import __version__
from residualplanner._whole import PathLike, write_whole_folder
from residualplanner.bases import is_alike
from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError
from residualplanner.measurement import Progress, noise_to_json
from residualplanner.plan import Plan, plan_hash
from residualplanner.queries import Kind, kind_to_json
from residualplanner.reconstruction.file_names import encoded_names, file_stem, parts_of_kinds
from residualplanner.reconstruction.table import VALUE_COLUMNS, Table, normal_quantile, require_free_names

if TYPE_CHECKING:
    from residualplanner.reconstruction.release import Release

FORMAT_VERSION = 3

_FORMATS = ("parquet", "csv")


def save_release(
    release: "Release", folder: PathLike, file_format: str, *, level: float, progress: Progress | None = None
) -> None:
    """Write all tables of a release, as `Release.save` describes."""
    if file_format not in _FORMATS:
        raise WorkloadError(f"format must be one of {list(_FORMATS)}, got {file_format!r}")
    normal_quantile(level)
    workload = release.plan.workload
    for position in np.unique(np.concatenate([block.attributes.ravel() for block in workload.blocks])).tolist():
        require_free_names((release.plan.domain.names[position],))

    with write_whole_folder(folder) as partial:
        tables = _write_tables(release, partial, file_format, level=level, progress=progress)
        errors = _errors(release.plan, level)
        index = errors.select(["query", "kinds", "cells"])
        for name, values in tables.items():
            index = index.append_column(name, [values])
        hashes = {
            "errors.csv": _write(partial / "errors.csv", _csv_bytes(errors)),
            "index.csv": _write(partial / "index.csv", _csv_bytes(index)),
        }
        _write(partial / "manifest.json", _manifest(release, file_format, level, hashes))


@dataclass(frozen=True, eq=False, slots=True)
class TidyWriter:
    """What all tables of one release have in common when they are written.

    Attributes:
        plan: what was measured, with how much noise.
        level: the confidence level.
        labels: for each attribute and kind that has been written the labels: a PyArrow array of text, a NumPy array of
            anything else.
    """

    plan: Plan
    level: float
    labels: dict[tuple[int, Kind], Any] = field(default_factory=dict)

    def tidy(self, table: Table, average_variance: float) -> Any:
        """A table as a PyArrow table: one row per cell, text dictionary-encoded.

        Args:
            table: the table.
            average_variance: of its cells, and of each of them where they are alike.
        """
        import pyarrow as pa

        estimate = table.estimate.ravel()
        variance = average_variance if _are_alike(table) else table.variance.ravel()
        std_err = np.broadcast_to(np.sqrt(variance), estimate.shape)
        moe = normal_quantile(self.level) * std_err
        values = (estimate, std_err, moe, np.full(estimate.size, self.level), estimate - moe, estimate + moe)
        columns = [self._column(table, axis) for axis in range(len(table.positions))]
        return pa.table([*columns, *map(pa.array, values)], names=[*table.names, *VALUE_COLUMNS])

    def _column(self, table: Table, axis: int) -> Any:
        import pyarrow as pa

        key = (table.positions[axis], table.kinds[axis])
        if key not in self.labels:
            self.labels[key] = _label_array(self.plan.domain.attributes[key[0]], key[1])
        labels, places = self.labels[key], _places(table.estimate.shape, axis)
        if isinstance(labels, np.ndarray):
            return pa.array(labels[places])
        return pa.DictionaryArray.from_arrays(places, labels)


def _write_tables(
    release: "Release", folder: Path, file_format: str, *, level: float, progress: Progress | None
) -> dict[str, list[str]]:
    """Write one file per table; the files' names and hashes, in the order of the workload."""
    to_bytes: Callable[[Any], Any] = _parquet_bytes if file_format == "parquet" else _csv_bytes
    writer, part_of, files, hashes = TidyWriter(release.plan, level), _file_parts(release.plan), [], []
    (folder / "tables").mkdir()
    for table, variance in zip(release.tables(progress), release.plan.average_variances.tolist(), strict=True):
        parts = [part_of[asked] for asked in zip(table.positions, table.kinds, strict=True)]
        file = f"tables/{file_stem(parts)}.{file_format}"
        files.append(file)
        hashes.append(_write(folder / file, to_bytes(writer.tidy(table, variance))))
    return {"file": files, "sha256": hashes}


def _write(path: Path, content: Any) -> str:
    """Write a new file, and return the SHA-256 of its bytes."""
    with open(path, "xb", buffering=0) as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def _parquet_bytes(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    repeated = [name for name in table.column_names if name not in ("estimate", "ci_low", "ci_high")]
    pq.write_table(table, stream, use_dictionary=repeated, write_statistics=False)
    return stream.getvalue()


def _csv_bytes(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    plain = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    stream = pa.BufferOutputStream()
    pa_csv.write_csv(table.cast(pa.schema(plain)), stream)
    return stream.getvalue()


@lru_cache(maxsize=64)
def _places(shape: tuple[int, ...], axis: int) -> NDArray[np.int32]:
    """Which value of one axis each cell of a table in C order has, (cells,)."""
    places = np.arange(shape[axis], dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return frozen(np.broadcast_to(places, shape).ravel())


def _are_alike(table: Table) -> bool:
    """Whether all cells have one variance: those of a marginal have, with subtraction bases, by symmetry."""
    bases = table.plan.basis_of_attribute
    return all(is_alike(bases[position], kind) for position, kind in zip(table.positions, table.kinds, strict=True))


def _file_parts(plan: Plan) -> dict[tuple[int, Kind], str]:
    """What an attribute contributes to the name of a file, for each kind of query that is asked of it."""
    workload, names = plan.workload, encoded_names(plan.domain.names)
    asked: dict[int, list[Kind]] = {}
    for position, code in np.argwhere(workload.asked).tolist():
        asked.setdefault(position, []).append(workload.kinds[code])
    return {
        (position, kind): part
        for position, kinds in asked.items()
        for kind, part in zip(kinds, parts_of_kinds(names[position], kinds), strict=True)
    }


def _label_array(attribute: Attribute, kind: Kind) -> Any:
    import pyarrow as pa

    labels = kind.labels(attribute)
    return pa.array(labels) if isinstance(labels[0], str) else np.array(labels)


def _errors(plan: Plan, level: float) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(plan.errors(level), preserve_index=False)


def _manifest(release: "Release", file_format: str, level: float, hashes: Mapping[str, str]) -> bytes:
    """What the release is and what it cost; never a seed, a count of records, a time or a machine."""
    import pyarrow as pa

    plan, noise = release.plan, release.measurement.noise
    manifest = {
        "format": "residualplanner/release",
        "version": FORMAT_VERSION,
        "package_versions": {
            "residualplanner": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "pyarrow": pa.__version__,
        },
        "plan": {
            "sha256": plan_hash(plan),
            "domain": plan.domain.to_json(),
            "budget": plan.budget.to_json(),
            "pcost": plan.pcost,
            "neighbors": plan.neighbors.notion,
            "records_per_person": plan.neighbors.records_per_person,
            "protected_change": plan.neighbors.words,
            "loss": plan.loss,
            "loss_value": plan.loss_value,
            "gap": plan.gap if math.isfinite(plan.gap) else None,
            "status": plan.status,
            "kinds": [kind_to_json(kind) for kind in plan.workload.kinds],
            "bases": {
                name: {"family": basis.family, "answers": basis.answers, "pcost": str(basis.pcost)}
                for name, basis in zip(plan.domain.names, plan.basis_of_attribute, strict=True)
            },
        },
        "noise": {name: value for name, value in noise_to_json(noise).items() if name != "seed"},
        "tables": {"count": len(release), "format": file_format, "conf_level": level},
        "files": dict(hashes),
    }
    return json.dumps(manifest, allow_nan=False, indent=2).encode("ascii") + b"\n"

"""A release as a folder of tidy files, whole or not at all.

Reads: a release.  Gives: files.  Holds a few tables at a time, however many there are.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._atomic import PathLike, write_folder_atomically
from residualplanner.errors import memory_for
from residualplanner.measurement import Progress
from residualplanner.plan import TOTAL, Plan, plan_bytes
from residualplanner.queries import Kind
from residualplanner.reconstruction.files import csvw
from residualplanner.reconstruction.files.export_files import csv_bytes, parquet_bytes, require_format, write_new
from residualplanner.reconstruction.files.export_manifest import PLAN_FILE, manifest_bytes
from residualplanner.reconstruction.files.export_rows import TidyWriter
from residualplanner.reconstruction.files.file_names import file_stem, parts_of_workload, table_name
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.files.workbook import require_workbooks, workbook_bytes
from residualplanner.reconstruction.profiles import level_of, profile_named, require_free_names
from residualplanner.workload import Workload

if TYPE_CHECKING:
    from residualplanner.reconstruction.release import Release


def require_exportable(workload: Workload, format: str = "parquet", profile: str = "default") -> None:
    """Raise unless the tables of a workload can be written so; ask before anything is spent on measuring them.

    Args:
        workload: the tables to save.
        format: "parquet", "csv" or "xlsx".
        profile: "default", "acs" or "gls".

    Raises:
        WorkloadError: there is no such format or profile, an attribute has the name of a column of the profile, or
            Excel cannot hold a table.
        MissingExtraError: workbooks are asked for, and XlsxWriter is not installed.
    """
    require_format(format)
    asked = np.flatnonzero(workload.asked.any(axis=1)).tolist()
    require_free_names([workload.domain.names[position] for position in asked], profile_named(profile))
    if format == "xlsx":
        require_workbooks(workload)


@memory_for("to write these tables; ask for smaller ones, or use a machine with more memory")
def save_release(
    release: "Release",
    folder: PathLike,
    file_format: str,
    *,
    profile: str,
    level: float | None,
    progress: Progress | None = None,
) -> None:
    """Write all tables of a release, as `Release.save` describes."""
    plan = release.plan
    require_exportable(plan.workload, file_format, profile)
    asked, chosen = profile_named(profile), level_of(profile, level)

    described = Description(
        plan, release.measurement.noise, file_format, asked, chosen, parts_of_workload(plan.workload)
    )
    with write_folder_atomically(folder) as partial:
        hashes = _write_files(release, partial, described, progress)
        manifest = manifest_bytes(release, file_format, profile=profile, level=chosen, hashes=hashes)
        write_new(partial / "manifest.json", [manifest])


def _write_files(release: "Release", folder: Path, described: Description, progress: Progress | None) -> dict[str, str]:
    """Write everything but the manifest; the hashes of the files that are no tables."""
    import pyarrow as pa

    plan = described.plan
    errors = pa.Table.from_pandas(plan.errors(described.level), preserve_index=False)
    index = errors.select(["query", "kinds", "cells"])
    for name, values in _write_tables(release, folder, described, index, progress).items():
        index = index.append_column(name, [values])
    files: dict[str, Any] = {
        "errors.csv": [csv_bytes(errors)],
        "index.csv": [csv_bytes(index)],
        PLAN_FILE: [plan_bytes(plan)],
        "metadata.json": [json.dumps(described.metadata(), indent=1).encode("ascii"), b"\n"],
    }
    if described.file_format == "csv":
        files[f"tables/{csvw.FILE}"] = csvw.csvw_pieces(described, _tables_of(index, plan))
    hashes = {name: write_new(folder / name, pieces) for name, pieces in files.items()}
    if described.profile.name == "gls":
        hashes["noise.csv"] = write_new(folder / "noise.csv", [csv_bytes(_noise_table(plan))])
    return hashes


def _write_tables(
    release: "Release", folder: Path, described: Description, index: Any, progress: Progress | None
) -> dict[str, list[str]]:
    """Write one file per table; their names, their files and the hashes of these, in the order of the workload."""
    plan, ending = described.plan, described.file_format
    writer, to_bytes = TidyWriter(plan, described.profile, described.level), _to_bytes(described, index)
    found: dict[str, list[str]] = {"name": [], "file": [], "sha256": []}
    (folder / "tables").mkdir()
    pairs = zip(release.tables(progress), plan.average_variances.tolist(), strict=True)
    for number, (table, variance) in enumerate(pairs):
        parts = [described.parts[asked] for asked in zip(table.positions, table.kinds, strict=True)]
        file = f"tables/{file_stem(parts)}.{ending}"
        found["name"].append(table_name(parts))
        found["file"].append(file)
        found["sha256"].append(write_new(folder / file, [to_bytes(number, writer.tidy(table, variance))]))
    return found


def _to_bytes(described: Description, index: Any) -> Callable[[int, Any], Any]:
    """What turns a table, and its number in the workload, into the bytes of a file."""
    if described.file_format == "xlsx":
        return lambda number, table: workbook_bytes(
            table, described.about_table(index["query"][number].as_py(), index["kinds"][number].as_py())
        )
    plain = parquet_bytes if described.file_format == "parquet" else csv_bytes
    return lambda _, table: plain(table)


def _tables_of(index: Any, plan: Plan) -> Iterator[tuple[str, str, tuple[tuple[int, Kind], ...]]]:
    """For each table its file's name, its query in words, and the attributes and kinds it is about."""
    workload = plan.workload
    files, queries = (iter(index[name].to_pylist()) for name in ("file", "query"))
    for block in workload.blocks:
        for positions, codes in zip(block.written_attributes.tolist(), block.written_kinds.tolist(), strict=True):
            asked = tuple(zip(positions, (workload.kinds[code] for code in codes), strict=True))
            yield next(files).removeprefix("tables/"), next(queries), asked


def _noise_table(plan: Plan) -> Any:
    """The noise of every set of attributes that is measured: its names, how many they are, sigma squared."""
    import pyarrow as pa

    sets = list(plan.noise_variance_of)
    names = pa.array([" × ".join(members) or TOTAL for members in sets])
    orders = pa.array([len(members) for members in sets])
    return pa.table({"query": names, "order": orders, "noise_variance": plan.noise_variances})

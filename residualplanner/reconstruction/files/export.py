"""A release as a folder of tidy files, whole or not at all.

Reads: tables, their plan and its noise.  Gives: files.  Holds a few tables at a time, however many there are.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner._atomic import PathLike, write_folder_atomically
from residualplanner._words import TOTAL
from residualplanner.errors import WorkloadError
from residualplanner.measurement import NoiseStatement
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.files import csvw
from residualplanner.reconstruction.files.export_files import (
    PARTS_FORMAT,
    FormatName,
    TidyWriter,
    chosen_format,
    csv_bytes,
    parquet_bytes,
    write_new,
)
from residualplanner.reconstruction.files.file_names import file_stem, table_name, written_queries
from residualplanner.reconstruction.files.manifest import manifest_bytes, plan_files
from residualplanner.reconstruction.files.sidecar import Description
from residualplanner.reconstruction.files.workbook import require_workbooks, workbook_bytes
from residualplanner.reconstruction.label_columns import label_column_names
from residualplanner.reconstruction.product import UNBIASED, Product
from residualplanner.reconstruction.profiles import level_of, profile_named, require_free_names
from residualplanner.reconstruction.table import Table
from residualplanner.workload import Workload


def require_exportable(workload: Workload, format: FormatName | None = None, profile: str = "default") -> None:
    """Raise unless the tables of a workload can be written in a format and profile; to call before they are measured.

    Args:
        workload: the tables to save.
        format: "parquet", "csv", "xlsx" or "parts"; by default what ``Release.save`` chooses.
        profile: "default", "acs" or "gls".

    Raises:
        WorkloadError: there is no such format or profile, the profile is not for "parts", an attribute has the name of
            a column of the profile, or Excel cannot hold a table.
        MissingExtraError: the format is "xlsx", and XlsxWriter is not installed.
    """
    format = chosen_format(workload, format, profile_named(profile).name)
    if format == PARTS_FORMAT and profile_named(profile).name != "default":
        raise WorkloadError(f'"parts" has estimates and standard errors only: profile={profile!r} is for other formats')
    used = np.flatnonzero(workload.uses.any(axis=1)).tolist()
    names = label_column_names(workload.domain.attributes[position] for position in used)
    require_free_names(names, profile_named(profile))
    if format == "xlsx":
        require_workbooks(workload)


def save_tables(
    tables: Iterable[Table],
    plan: Plan,
    noise: NoiseStatement,
    folder: PathLike,
    *,
    file_format: FormatName,
    profile: str,
    level: float | None,
    product: Product = UNBIASED,
) -> None:
    """Write all tables of a plan's workload, in its order, as `Release.save` describes."""
    require_exportable(plan.workload, file_format, profile)
    described = Description(plan, noise, file_format, profile_named(profile).of(product), level_of(profile, level))
    with write_folder_atomically(folder) as partial:
        hashes = _write_files(tables, partial, described)
        write_new(partial / "manifest.json", [manifest_bytes(described, hashes, len(plan.workload))])


def _write_files(tables: Iterable[Table], folder: Path, described: Description) -> dict[str, str]:
    """Write everything but the manifest; return the hashes of the files that are not tables."""
    import pyarrow as pa

    plan = described.plan
    errors = pa.Table.from_pandas(plan.errors(described.level), preserve_index=False)
    index = errors.select(["query", "kinds", "cells"])
    for name, values in _write_tables(tables, folder, described, index).items():
        index = index.append_column(name, [values])
    files: dict[str, Any] = {
        "errors.csv": [csv_bytes(errors)],
        "index.csv": [csv_bytes(index)],
        **{name: [content] for name, content in plan_files(described).items()},
        "metadata.json": [json.dumps(described.metadata(), indent=1).encode("ascii"), b"\n"],
    }
    if described.file_format == "csv":
        files[f"tables/{csvw.FILE}"] = csvw.csvw_pieces(described, _tables_of(index, plan))
    if described.profile.name == "gls":
        files["noise.csv"] = [csv_bytes(_noise_table(plan))]
    return {name: write_new(folder / name, pieces) for name, pieces in files.items()}


def _write_tables(tables: Iterable[Table], folder: Path, described: Description, index: Any) -> dict[str, list[str]]:
    """Write one file per table; return their names, files and hashes, in the order of the workload."""
    plan, ending = described.plan, described.file_format
    writer, to_bytes = TidyWriter(plan, described.profile, described.level), _to_bytes(described, index)
    found: dict[str, list[str]] = {"name": [], "file": [], "sha256": []}
    (folder / "tables").mkdir()
    pairs = zip(tables, plan.average_variances.tolist(), strict=True)
    for number, (table, variance) in enumerate(pairs):
        parts = described.parts_of(table.positions, table.kinds)
        file = f"tables/{file_stem(parts)}.{ending}"
        found["name"].append(table_name(parts))
        found["file"].append(file)
        found["sha256"].append(write_new(folder / file, [to_bytes(number, writer.tidy(table, variance))]))
    return found


def _to_bytes(described: Description, index: Any) -> Callable[[int, Any], Any]:
    """The function that turns a table, given its number in the workload, into the bytes of a file."""
    if described.file_format == "xlsx":
        workload = described.plan.workload
        return lambda number, table: workbook_bytes(
            table,
            described.about_table(
                index["query"][number].as_py(), index["kinds"][number].as_py(), workload.query_at(number).positions
            ),
        )
    plain = parquet_bytes if described.file_format == "parquet" else csv_bytes
    return lambda _, table: plain(table)


def _tables_of(index: Any, plan: Plan) -> Iterator[tuple[str, str, tuple[tuple[int, Kind], ...]]]:
    """For each table the name of its file, its query in words, and its attributes with their kinds."""
    files, queries = (index[name].to_pylist() for name in ("file", "query"))
    for file, query, written in zip(files, queries, written_queries(plan.workload), strict=True):
        yield file.removeprefix("tables/"), query, tuple(zip(*written, strict=True))


def _noise_table(plan: Plan) -> Any:
    """The noise of every set of attributes that is measured: its names, how many they are, sigma squared."""
    import pyarrow as pa

    sets = list(plan.noise_variance_of)
    names = pa.array([" × ".join(members) or TOTAL for members in sets])
    orders = pa.array([len(members) for members in sets])
    return pa.table({"query": names, "order": orders, "noise_variance": plan.noise_variances})

"""A release as a folder of tidy files, whole or not at all.

Holds a few tables at a time, however many there are.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.stores import new_folder, path_at
from residualplanner.ground.words import TOTAL
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.csvw import csvw_files
from residualplanner.publish.files.export_files import (
    BOOK_FORMAT,
    PARTS_FORMAT,
    TidyWriter,
    chosen_format,
    csv_bytes,
    csv_files,
    described_table,
    parquet_bytes,
    write_new,
)
from residualplanner.publish.files.file_names import BOOK_FILE, file_stem, sheet_names, table_name, written_queries
from residualplanner.publish.files.manifest import manifest_bytes, plan_files
from residualplanner.publish.files.saved_measurement import save_measurements
from residualplanner.publish.files.sidecar import Description
from residualplanner.publish.files.statistics import (
    FOLDER,
    about_statistics,
    require_free_statistic_names,
    statistic_columns,
    statistic_file,
    statistic_formats,
    statistic_sheet,
    tidy_statistic,
    with_statistics,
)
from residualplanner.publish.files.workbook import (
    ABOUT_SHEET,
    Book,
    require_one_workbook,
    require_workbooks,
    workbook_bytes,
)
from residualplanner.release.profiles import FormatName, Profile, profile_named, require_free_names
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table
from residualplanner.release.tidy_form import label_column_names


def require_exportable(
    workload: Workload,
    format: FormatName | None = None,
    profile: str = "default",
    *,
    quality: Quality | None = None,
) -> None:
    """Raise unless the tables of a workload can be written in a format and profile; to call before they are measured.

    Args:
        workload: the tables to save.
        format: "parquet", "csv", "xlsx", "workbook" or "parts"; by default what ``Release.save`` chooses.
        profile: "default", "acs" or "gls".
        quality: which estimates are reliable, if tables are to say it.

    Raises:
        WorkloadError: there is no such format or profile, the profile or the quality is not for "parts", an attribute
            has the name of a column of the profile, or Excel cannot hold a table, or all of them in one workbook.
        MissingExtraError: the format is "xlsx" or "workbook", and XlsxWriter is not installed.
    """
    format = chosen_format(workload, format, profile_named(profile).name, quality=quality)
    if format == PARTS_FORMAT and quality is not None:
        raise WorkloadError(
            '"parts" has estimates and standard errors only, whose quotient is the coefficient of variation: quality= '
            "is for other formats"
        )
    if format == PARTS_FORMAT and profile_named(profile).name != "default":
        raise WorkloadError(f'"parts" has estimates and standard errors only: profile={profile!r} is for other formats')
    _require_free_names(workload, profile_named(profile).graded(quality))
    if format == "xlsx":
        require_workbooks(workload)
    if format == BOOK_FORMAT:
        require_one_workbook(workload)


def _require_free_names(workload: Workload, profile: Profile) -> None:
    is_axis = np.array([kind.is_axis for kind in workload.kinds], dtype=bool)
    uses = workload.uses & is_axis
    used = np.flatnonzero(uses.any(axis=1)).tolist()
    kinds = {position: [workload.kinds[code] for code in np.flatnonzero(uses[position])] for position in used}
    axes = ((workload.domain.attributes[position], kinds[position]) for position in used)
    require_free_names(label_column_names(axes), profile)
    require_free_statistic_names(workload, profile)


def save_tables(
    described: Description,
    tables: Iterable[Table],
    answers: NoisyAnswers,
    folder: PathLike,
    *,
    more: Mapping[str, Any],
) -> None:
    """Write all tables of a plan's workload, in its order, as `Release.save` describes.

    Args:
        described: what they are, and how they are written.
        tables: in the order of the workload.
        answers: that the tables follow from, or were made from.
        folder: as of `Release.save`.
        more: data frames by the names of further CSV files.
    """
    plan = described.plan
    _require_free_names(plan.workload, described.profile)
    with new_folder(path_at(folder)) as unfinished:
        hashes = _write_files(tables, unfinished, described) | save_measurements(answers, unfinished)
        hashes |= {name: write_new(unfinished / name, [content]) for name, content in csv_files(more).items()}
        write_new(unfinished / "manifest.json", [manifest_bytes(described, hashes, len(plan.workload))])


def _write_files(tables: Iterable[Table], folder: Path, described: Description) -> dict[str, str]:
    """Write everything but the manifest; return the hashes of the files that are not tables."""
    import pyarrow as pa

    plan = described.plan
    errors = pa.Table.from_pandas(plan.errors(described.level), preserve_index=False)
    index = errors.select(["query", "kinds", "cells", *(["unit"] if "unit" in errors.column_names else [])])
    statistics: dict[str, str] = {}
    write = _write_book if described.file_format == BOOK_FORMAT else _write_tables
    for name, values in write(tables, folder, described, index, statistics).items():
        index = index.append_column(name, [values])
    files: dict[str, Any] = {
        "errors.csv": [csv_bytes(errors)],
        "index.csv": [csv_bytes(index)],
        **{name: [content] for name, content in plan_files(described).items()},
        "metadata.json": [
            json.dumps(described.metadata() | about_statistics(described), indent=1).encode("ascii"),
            b"\n",
        ],
    }
    if described.file_format == "csv":
        files |= csvw_files(described, index)
    if described.profile.has_noise:
        files["noise.csv"] = [csv_bytes(_noise_table(plan))]
    return statistics | {name: write_new(folder / name, pieces) for name, pieces in files.items()}


def _write_tables(
    tables: Iterable[Table], folder: Path, described: Description, index: Any, statistics: dict[str, str]
) -> dict[str, list[str]]:
    """Write one file per table; return their names, files and hashes, in the order of the workload.

    The statistics that tables are for get files, too, whose hashes are added to ``statistics``.
    """
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
        statistic = tidy_statistic(described, writer, table)
        if statistic is not None:
            file = statistic_file(described, WrittenQuery(table.positions, table.kinds))
            (folder / FOLDER).mkdir(exist_ok=True)
            statistics[file] = write_new(folder / file, [to_bytes(number, statistic, is_statistic=True)])
    return found


def _write_book(
    tables: Iterable[Table], folder: Path, described: Description, index: Any, _: dict[str, str]
) -> dict[str, list[str]]:
    """Write one workbook for all tables; return what `_write_tables` returns, and the names of their sheets.

    A statistic has the sheet after that of its table.
    """
    plan, queries = described.plan, list(written_queries(described.plan.workload))
    writer, book = (
        TidyWriter(plan, described.profile, described.level),
        Book(described.number_formats | statistic_formats(described), described.publication),
    )
    names = [table_name(described.parts_of(*query)) for query in queries]
    sheets = sheet_names(names)
    titles = [described.title_of(query) for query in queries]
    heads = tuple(index.column_names)
    texts = {"title": titles} if any(titles) else {}
    rows = list(zip(sheets, *(index[name].to_pylist() for name in heads), *texts.values(), strict=True))
    book.add_index(("sheet", *heads, *texts), with_statistics(rows, described, queries))
    about = [*described.publication.to_json().items(), ("tables", str(len(names))), *described.about_every, ("", "")]
    positions = sorted({position for query in queries for position in query.table_axes.positions})
    about_columns = described.about_columns(positions, described.plan.domain.unit)
    about_columns += dict.fromkeys(column for query in queries for column in statistic_columns(described, query))
    book.add_texts(ABOUT_SHEET, [*about, ("column", "unit", "meaning"), *about_columns])
    titled = [title or query for title, query in zip(titles, index["query"].to_pylist(), strict=True)]
    for sheet, title, table, variance in zip(sheets, titled, tables, plan.average_variances.tolist(), strict=True):
        book.add_table(sheet, writer.tidy(table, variance), title)
        statistic = tidy_statistic(described, writer, table)
        if statistic is not None:
            book.add_table(statistic_sheet(sheet), statistic, title)
    digest = write_new(folder / BOOK_FILE, [book.close()])
    return {"name": names, "file": [BOOK_FILE] * len(names), "sha256": [digest] * len(names), "sheet": sheets}


def _to_bytes(described: Description, index: Any) -> Callable[..., Any]:
    """The function that turns a table, or its statistic, given its number in the workload, into the bytes of a file."""
    if described.file_format == "xlsx":
        return partial(_book_bytes, described, index)
    if described.file_format == "csv":
        return lambda _, table, **__: csv_bytes(table)
    workload, queries, kinds = described.plan.workload, index["query"], index["kinds"]

    def to_parquet(number: int, table: Any, *, is_statistic: bool = False) -> Any:
        query = workload.query_at(number)
        about = described.about_query(queries[number].as_py(), kinds[number].as_py(), query)
        columns = _about_columns(described, query, is_statistic=is_statistic)
        return parquet_bytes(described_table(table, about, columns))

    return to_parquet


def _about_columns(described: Description, written: WrittenQuery, *, is_statistic: bool) -> list[tuple[str, ...]]:
    """Name, unit and meaning of the columns of a table, or of its statistic."""
    if is_statistic:
        return [*described.about_attributes(written.positions), *statistic_columns(described, written)]
    return described.about_columns(written.positions, written.unit(described.plan.domain))


def _book_bytes(described: Description, index: Any, number: int, table: Any, *, is_statistic: bool = False) -> bytes:
    """The workbook of one table, or of its statistic, given its number in the workload."""
    name, query = index["query"][number].as_py(), described.plan.workload.query_at(number)
    formats = statistic_formats(described) if is_statistic else described.number_formats
    columns = _about_columns(described, query, is_statistic=is_statistic)
    return workbook_bytes(
        table,
        described.about_table(name, index["kinds"][number].as_py(), query, columns),
        formats,
        title=described.title_of(query) or name,
        publication=described.publication,
    )


def _noise_table(plan: Plan) -> Any:
    """The noise of every set of attributes that is measured: its names, how many they are, sigma squared."""
    import pyarrow as pa

    sets = list(plan.noise_variance_of)
    names = pa.array([" × ".join(members) or TOTAL for members in sets])
    orders = pa.array([len(members) for members in sets])
    return pa.table({"query": names, "order": orders, "noise_variance": plan.noise_variances})

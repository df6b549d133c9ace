"""A release as a folder of files, in any format, whole or not at all, and the folder opened again.

A few tables at a time are in memory; parts are written in their own room.  Anyone may have made a folder: nothing in it
is run, and no path leads out of it.
"""

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from residualplanner.gate.sources.source import Progress
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import require_path
from residualplanner.ground.errors import ArgumentError, FileFormatError, WorkloadError, memory_for
from residualplanner.ground.stores.bucket import Bucket, new_folder, path_at, path_given
from residualplanner.ground.words import TOTAL, FormatName, ProfileName
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files import csv, file_names, formats, workbook
from residualplanner.publish.files import manifest as manifests
from residualplanner.publish.files.columns import tidy_statistic, tidy_table
from residualplanner.publish.files.comparisons import comparison_forms, comparison_in_sheet, require_comparisons
from residualplanner.publish.files.manifest import AGAIN
from residualplanner.publish.files.reading import open_files
from residualplanner.publish.files.sidecar import PUBLISHED_ERRORS_FILE, STATISTICS, Description, FileForm
from residualplanner.publish.parts.reading import open_parts
from residualplanner.publish.parts.saving import save_parts
from residualplanner.release.comparisons import Comparisons
from residualplanner.release.devices import HOST
from residualplanner.release.profiles import level_of, profile_named
from residualplanner.release.published_errors import PublishedErrors, require_errors_of
from residualplanner.release.quality import Publication, Quality
from residualplanner.release.release import Release
from residualplanner.release.table import Table
from residualplanner.scale.workers import Workers


@memory_for("to write these tables; write smaller ones, or use a machine with more memory")
def save(  # noqa: PLR0913
    release: Release,
    folder: PathLike,
    format: FormatName | None,
    *,
    profile: ProfileName,
    level: float | None,
    quality: Quality | None,
    publication: Publication | None,
    with_unbiased: bool,
    errors: PublishedErrors | None,
    comparisons: Comparisons,
    workers: int | Workers,
    only: Iterable[int] | None,
    progress: Progress | None,
) -> None:
    """Write the tables of a release's workload to a new folder; arguments and errors as of `Release.save`."""
    require_path("release.save", folder, 'release.save("release")')
    measurement, numbers = release.measurement, release.numbers
    plan = measurement.plan
    if numbers.folder is not None:  # intervals of numbers that were read do not follow from these alone
        raise ArgumentError(
            f"release.save: this release is in {numbers.folder} already; copy the folder, or write "
            "reconstruct(tables).save(folder) for another form of what was measured"
        )
    if only is not None and format not in (file_names.PARTS_FORMAT, None):
        raise WorkloadError(f'only= is for format="parts", not {format!r}')
    chosen = formats.chosen_format(plan.workload, format if only is None else "parts", profile, quality=quality)
    formats.require_exportable(plan.workload, chosen, profile, quality=quality)
    require_comparisons(comparisons)
    compared = comparison_forms(comparisons)
    more = {form.file: csv.write(comparisons[name].to_frame()) for name, form in compared.items()}
    if errors is not None:
        require_errors_of(plan, numbers.product, errors)
        more |= {PUBLISHED_ERRORS_FILE: csv.write(errors.to_frame())}
    columns = profile_named(profile).of(numbers.product, with_unbiased=with_unbiased).graded(quality)
    stated = level_of(profile, level), publication or Publication()
    described = Description(plan, measurement.noise, chosen, columns, *stated, compared)
    if chosen != file_names.PARTS_FORMAT:
        formats.require_free_columns(plan.workload, columns)
        with new_folder(path_at(folder)) as unfinished:
            hashes = _write_files(release.tables(progress), unfinished, described, comparisons)
            hashes |= manifests.save_measurements(measurement, unfinished)
            hashes |= {name: write_new(unfinished / name, content) for name, content in more.items()}
            write_new(unfinished / "manifest.json", manifests.manifest_bytes(described, hashes, len(plan.workload)))
        return
    if release.device is not HOST:
        raise ArgumentError(
            "release.save: parts are computed by NumPy, the same bytes each time; write "
            'reconstruct(measurement).save(folder, format="parts"), without device'
        )
    save_parts(described, measurement, numbers, folder, workers=workers, only=only, progress=progress, more=more)


def _write_files(
    tables: Iterable[Table], folder: Path, described: Description, comparisons: Comparisons
) -> dict[str, str]:
    import pyarrow as pa

    plan = described.plan
    errors = pa.Table.from_pandas(plan.errors(described.level), preserve_index=False)
    index = errors.select(["query", "kinds", "cells", *(["unit"] if "unit" in errors.column_names else [])])
    is_book = described.file_format == file_names.BOOK_FORMAT
    write = partial(_write_book, comparisons=comparisons) if is_book else _write_tables
    found, statistics = write(tables, folder, described, index)
    for name, values in found.items():
        index = index.append_column(name, [values])
    files: dict[str, Any] = {"errors.csv": csv.write(errors), "index.csv": csv.write(index)}
    files |= manifests.files_beside(described, described.about_statistics())
    if described.file_format in formats.FORMATS:
        files |= formats.FORMATS[described.file_format].beside(described)
    if described.profile.has_noise:
        sets = list(plan.noise_variance_of)
        names, orders = [" × ".join(members) or TOTAL for members in sets], [len(members) for members in sets]
        noise = pa.table({"query": names, "order": orders, "noise_variance": plan.noise_variances})
        files["noise.csv"] = csv.write(noise)
    return statistics | {name: write_new(folder / name, content) for name, content in files.items()}


def _write_tables(
    tables: Iterable[Table], folder: Path, described: Description, index: Any
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Write one file per table; their names, files and hashes, in order; and the hashes of those of statistics."""
    found: dict[str, list[str]] = {"name": [], "file": [], "sha256": []}
    statistics, write = dict[str, str](), formats.FORMATS[described.file_format].write
    (folder / "tables").mkdir()
    words_of = (index[name].to_pylist() for name in ("query", "kinds"))
    rows = zip(tables, described.plan.average_variances.tolist(), *words_of, strict=True)
    for table, variance, *words in rows:
        query = WrittenQuery(table.positions, table.kinds)
        form, other = described.table_form(query), described.statistic_form(query)
        content = write(tidy_table(described, form, table, variance), _table_words(described, form, *words))
        values = file_names.table_name(described.parts_of(query)), form.file, write_new(folder / form.file, content)
        for name, value in zip(found, values, strict=True):
            found[name].append(value)
        if other is not None:
            (folder / STATISTICS).mkdir(exist_ok=True)
            content = write(tidy_statistic(described, other, table), _table_words(described, other, *words))
            statistics[other.file] = write_new(folder / other.file, content)
    return found, statistics


def _table_words(described: Description, form: FileForm, query: str, kinds: str) -> formats.TableWords:
    about = described.about_query(query, kinds, form.query)
    columns = [*described.about_attributes(form.query.positions), *(column.words for column in form.columns)]
    title = described.title_of(form.query) or query
    return formats.TableWords(title, about, columns, form.number_formats, described.publication)


def _write_book(
    tables: Iterable[Table], folder: Path, described: Description, index: Any, *, comparisons: Comparisons
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Write one workbook for all tables, a statistic after its table; as `_write_tables`, and the sheets' names."""
    plan, queries = described.plan, list(file_names.written_queries(described.plan.workload))
    forms, others = list(map(described.table_form, queries)), list(map(described.statistic_form, queries))
    statistics = [form for form in others if form is not None]
    number_formats = {name: shown for form in (*forms[:1], *statistics) for name, shown in form.number_formats.items()}
    book = workbook.Book(number_formats, described.publication)
    names = [file_names.table_name(described.parts_of(query)) for query in queries]
    sheets, titles = file_names.sheet_names(names), [described.title_of(query) for query in queries]
    heads, texts = tuple(index.column_names), {"title": titles} if any(titles) else {}
    rows, lists = [], [index[name].to_pylist() for name in heads]
    for other, row in zip(others, zip(sheets, *lists, *texts.values(), strict=True), strict=True):
        rows.append(row)
        if other is not None:
            sheet, words, kinds, _, *more = row
            rows.append((file_names.statistic_sheet(sheet), words, f"{kinds}, with intervals", None, *more))
    compared = [(f"comparison {number}", each) for number, each in enumerate(comparisons.values(), 1)]
    rows += [(sheet, each.title, "comparison") for sheet, each in compared]
    book.add_index(("sheet", *heads, *texts), rows)
    about = [*described.publication.to_json().items(), ("tables", str(len(names))), *described.about_every, ("", "")]
    columns = described.about_attributes(sorted({place for query in queries for place in query.table_axes.positions}))
    columns += [column.words for column in described.columns(plan.domain.unit)]
    columns += dict.fromkeys(column.words for form in statistics for column in form.columns)
    columns += [(name, *words) for _, each in compared for name, *words in each.columns]
    book.add_texts(workbook.ABOUT_SHEET, [*about, ("column", "unit", "meaning"), *columns])
    words_of, variances = index["query"].to_pylist(), plan.average_variances.tolist()
    of_each = zip(sheets, titles, words_of, forms, others, tables, variances, strict=True)
    for sheet, title, query, form, other, table, variance in of_each:
        book.add_table(sheet, tidy_table(described, form, table, variance), title or query)
        if other is not None:
            book.add_table(file_names.statistic_sheet(sheet), tidy_statistic(described, other, table), title or query)
    for sheet, each in compared:
        book.add_table(sheet, comparison_in_sheet(each), each.title)
    digest = write_new(folder / file_names.BOOK_FILE, book.close())
    file, sha256 = ([word] * len(names) for word in (file_names.BOOK_FILE, digest))
    return {"name": names, "file": file, "sha256": sha256, "sheet": sheets}, {}


def write_new(path: Path, content: Any) -> str:
    """Write a new file, and return the SHA-256 of its bytes."""
    with open(path, "xb") as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def load_tables(folder: PathLike | Bucket) -> Release:
    """Open the folder of a release, in any format and profile.

    Args:
        folder: the folder that `Release.save`, or the command line, has written; or its address in a bucket.

    Returns:
        The release, with the estimates that were saved, bit for bit, of the queries that were saved.  What else the
        folder holds is in its ``numbers``: `InFiles`, or `InParts` where tables are in parts.

    Raises:
        FileFormatError: a file is missing, was altered since the release was saved, is of another version, or is not
            what it should be; the message names it.

    Cost: the manifest, the metadata and the index are read; each table when it is looked up.
    """
    home = path_given("load_tables", folder, 'load_tables("release")')
    manifest = manifests.read_manifest(home)
    try:
        described, metadata = manifests.read_description(home, manifest)
        answers = manifests.SavedAnswers(described.plan, described.noise, home, manifest["files"])
        opened = open_parts if described.file_format == file_names.PARTS_FORMAT else open_files
        return Release(answers, opened(home, manifest, metadata, described))
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types, anywhere
        raise FileFormatError(f"{home / 'manifest.json'} does not hold what a release's does; {AGAIN}") from None

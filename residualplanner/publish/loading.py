"""A release folder opened again: the same numbers, after their hashes have been compared.

Anyone may have made the folder: nothing in it is run, and no path leads out of it.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from residualplanner.ground.archive import HEADER_LIMIT
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import limited_bytes
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.margins import require_level
from residualplanner.ground.stores import AnyPath, Bucket, BucketPath, path_given
from residualplanner.method.plan.files import plan_of_bytes
from residualplanner.publish.files import csv
from residualplanner.publish.files.file_names import (
    BOOK_FILE,
    BOOK_FORMAT,
    FORMATS,
    PARTS_FORMAT,
    file_stem,
    table_name,
    written_queries,
)
from residualplanner.publish.files.manifest import (
    AGAIN,
    FORMAT,
    FORMAT_VERSION,
    PLAN_FILE,
    SavedAnswers,
    checked,
    content_of,
    json_of,
    measured_files,
    noise_of_manifest,
    require_true_metadata,
)
from residualplanner.publish.files.reading import InFiles, SavedTable
from residualplanner.publish.files.sidecar import INTEGER, TEXT, Description
from residualplanner.publish.parts.reading import open_parts
from residualplanner.release.product import product_of_json
from residualplanner.release.profiles import PROFILES
from residualplanner.release.publication import Publication
from residualplanner.release.quality import quality_of_json
from residualplanner.release.release import Release

_INDEX = {"query": TEXT, "kinds": TEXT, "cells": INTEGER, "name": TEXT, "file": TEXT, "sha256": TEXT}


def load_tables(folder: PathLike | Bucket | BucketPath) -> Release:
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
    path = home / "manifest.json"
    if not path.is_file():
        raise FileFormatError(f"{home} has no manifest.json; name the folder of a release")
    manifest = json_of(path, limited_bytes(path, HEADER_LIMIT, name=path, remedy=AGAIN))
    _require_version(manifest, path)
    try:
        return _opened(home, manifest)
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types, anywhere
        raise FileFormatError(f"{path} does not hold what a release's does; {AGAIN}") from None


def _opened(home: AnyPath, manifest: Mapping[str, Any]) -> Release:
    hashes, about, path = manifest["files"], manifest["tables"], home / "manifest.json"
    names = (PLAN_FILE, *checked(path, partial(measured_files, manifest)))
    contents = ((name, content_of(home, name, hashes[name])) for name in names)
    plan, *plans = (checked(home / name, partial(plan_of_bytes, content)) for name, content in contents)
    noise = checked(path, partial(noise_of_manifest, manifest, plan, plans))
    file_format, level = about["format"], about["conf_level"]
    if file_format not in (*FORMATS, PARTS_FORMAT) or about["profile"] not in PROFILES or not isinstance(level, float):
        raise LookupError
    require_level(level)
    product = checked(path, partial(product_of_json, about.get("product")))
    with_unbiased = about.get("with_unbiased", False)
    if not isinstance(with_unbiased, bool):
        raise LookupError
    quality = checked(path, partial(quality_of_json, about.get("quality")))
    metadata = json_of(home / "metadata.json", content_of(home, "metadata.json", hashes["metadata.json"]))
    publication = checked(home / "metadata.json", partial(_publication_of, metadata))
    profile = PROFILES[about["profile"]].of(product, with_unbiased=with_unbiased).graded(quality)
    described = Description(plan, noise, file_format, profile, level, publication)
    checked(home / "metadata.json", partial(require_true_metadata, metadata, described))
    answers = SavedAnswers(plan, noise, home, hashes)
    if file_format == PARTS_FORMAT:
        return Release(answers, open_parts(home, manifest, metadata, described))
    index = csv.read(content_of(home, "index.csv", hashes["index.csv"]), home / "index.csv", _INDEX)
    saved = map(SavedTable, *(index[name].to_pylist() for name in ("file", "sha256", "cells")))
    files = dict(zip(index["name"].to_pylist(), saved, strict=True))
    if about["count"] != len(files) or not _are_of_workload(files, described):
        raise FileFormatError(f"{home / 'index.csv'} names other tables or files than {PLAN_FILE} has; {AGAIN}")
    return Release(answers, InFiles(home, manifest, metadata, described, files))


def _are_of_workload(files: Mapping[str, SavedTable], described: Description) -> bool:
    """Whether these are the tables of the plan's workload, in its order, each of its cells in the file of its name."""
    workload, ending = described.plan.workload, described.file_format
    if len(files) != len(workload):
        return False
    rows = zip(files.items(), written_queries(workload), workload.cells.tolist(), strict=True)
    every = (((name, saved), described.parts_of(*query), cells) for (name, saved), query, cells in rows)
    return all(
        name == table_name(parts)
        and saved.file == (BOOK_FILE if ending == BOOK_FORMAT else f"tables/{file_stem(parts)}.{ending}")
        and saved.cells == cells
        for (name, saved), parts, cells in every
    )


def _publication_of(metadata: Mapping[str, Any]) -> Publication:
    try:
        return Publication(**metadata.get("publication", {}))
    except TypeError:
        raise FileFormatError("it does not say what the publication is") from None


def _require_version(manifest: Any, path: AnyPath) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileFormatError(f"{path} is not the manifest of a release; name the folder of one")
    number = manifest.get("version")
    if type(number) is not int or number > FORMAT_VERSION:
        raise FileFormatError(
            f"{path}: written by a newer version (format {number!r}, this reads {FORMAT_VERSION}); "
            "upgrade residualplanner"
        )
    if number < FORMAT_VERSION:
        raise FileFormatError(f"{path}: format {number} is no longer read; save the release again with this version")

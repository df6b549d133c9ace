"""Links from a page to the files of the tables of a release folder.

Reads: the tables of a folder, the path of a page.  Gives: relative URLs.
"""

import os
from pathlib import Path
from urllib.parse import quote

from residualplanner.publish.files.reading import SavedTables
from residualplanner.publish.parts.layout import part_name
from residualplanner.publish.parts.reading import SavedParts
from residualplanner.release.tables import Tables


def links_of(tables: Tables | None, page: Path) -> list[str]:
    """For each query of the workload the URL of the file of its table, from the page; empty where there are no files.

    Files on another drive than the page, or in a bucket, have no URL from there.
    """
    if not isinstance(tables, SavedTables | SavedParts) or not isinstance(tables.folder, Path):
        return []
    try:
        way = Path(os.path.relpath(tables.folder.resolve(), page.absolute().parent.resolve()))
    except ValueError:  # as on Windows, from one drive to another
        return []
    start = "./" + quote(way.as_posix())
    return [f"{start}/{quote(file)}" for file in _files(tables)]


def _files(tables: SavedTables | SavedParts) -> list[str]:
    """The file of each query of the workload, empty where there is none."""
    if isinstance(tables, SavedTables):
        return [saved.file for saved in tables.files.values()]
    here = set(tables.numbers.tolist())
    parts = (tables.layout.part_of(number) for number in range(len(tables.plan.workload)))
    return [part_name(part) if number in here else "" for number, part in enumerate(parts)]

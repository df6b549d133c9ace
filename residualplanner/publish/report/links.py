"""Links from a page to the files of the tables of a release folder.

Reads: the tables of a folder, the path of a page.  Gives: relative URLs.
"""

import os
from pathlib import Path
from urllib.parse import quote

from residualplanner.release.release import Release


def links_of(tables: Release | None, page: Path) -> list[str]:
    """For each query of the workload the URL of the file of its table, from the page; empty where there are no files.

    Files on another drive than the page, or in a bucket, have no URL from there.
    """
    folder = None if tables is None else tables.numbers.folder
    if tables is None or not isinstance(folder, Path):
        return []
    try:
        way = Path(os.path.relpath(folder.resolve(), page.absolute().parent.resolve()))
    except ValueError:  # as on Windows, from one drive to another
        return []
    start = "./" + quote(way.as_posix())
    files = map(tables.numbers.file_of, range(len(tables.plan.workload)))
    return [f"{start}/{quote(file)}" for file in files]

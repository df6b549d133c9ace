"""A release folder opened again: the same numbers, after their hashes have been compared.

Anyone may have made the folder: nothing in it is run, and no path leads out of it.
"""

from collections.abc import Mapping
from typing import Any

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath, Bucket, BucketPath, path_given
from residualplanner.publish.files.file_names import PARTS_FORMAT
from residualplanner.publish.files.manifest import AGAIN, SavedAnswers, read_description, read_manifest
from residualplanner.publish.files.reading import open_files
from residualplanner.publish.parts.reading import open_parts
from residualplanner.release.release import Release


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
    manifest = read_manifest(home)
    try:
        return _opened(home, manifest)
    except FileFormatError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError):  # values of other types, anywhere
        raise FileFormatError(f"{home / 'manifest.json'} does not hold what a release's does; {AGAIN}") from None


def _opened(home: AnyPath, manifest: Mapping[str, Any]) -> Release:
    described, metadata = read_description(home, manifest)
    answers = SavedAnswers(described.plan, described.noise, home, manifest["files"])
    opened = open_parts if described.file_format == PARTS_FORMAT else open_files
    return Release(answers, opened(home, manifest, metadata, described))

"""From what people write to a store.

Reads: a path, or an address such as ``s3://bucket/prefix``.  Gives: ObjectStore.
"""

import os
from pathlib import Path

from residualplanner._checks import value_text
from residualplanner.errors import ArgumentError
from residualplanner.stores.bucket import Bucket
from residualplanner.stores.folder import Folder
from residualplanner.stores.object_store import ObjectStore

_S3 = "s3://"


def open_store(where: object) -> ObjectStore:
    """The store at a path or address; nothing is read or written yet.

    Args:
        where: the path of a folder, which is made if it is not there; ``s3://bucket/prefix``, for which the environment
            holds keys, region and endpoint; or a store.

    Raises:
        ArgumentError: it is none of these.

    Example:
        >>> open_store("s3://survey/release-1")
        Bucket(bucket='survey', prefix='release-1')
    """
    if isinstance(where, ObjectStore):
        return where
    if isinstance(where, str) and where.startswith(_S3):
        bucket, _, prefix = where.removeprefix(_S3).partition("/")
        if bucket:
            return Bucket(bucket, prefix.strip("/"))
    elif isinstance(where, os.PathLike) or (isinstance(where, str) and where and "://" not in where):
        return Folder(Path(where).absolute())
    raise ArgumentError(
        f"a store must be the path of a folder, s3://bucket/prefix, or a Bucket, got {value_text(where)}"
    )

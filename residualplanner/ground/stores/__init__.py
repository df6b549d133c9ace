"""Stores of objects that are written once, and that exist whole or not at all: folders and object stores.

`open_store` makes one from a path or from an address such as ``s3://bucket/prefix``.
"""

from residualplanner.ground.stores.bucket import Bucket, BucketPath
from residualplanner.ground.stores.object_store import Folder, ObjectStore, require_create_if_absent
from residualplanner.ground.stores.opening import (
    AnyPath,
    Mark,
    local_file,
    marked,
    new_folder,
    open_store,
    path_at,
    path_given,
    require_free,
    variables_of,
)

__all__ = [
    "AnyPath",
    "Bucket",
    "BucketPath",
    "Folder",
    "Mark",
    "ObjectStore",
    "local_file",
    "marked",
    "new_folder",
    "open_store",
    "path_at",
    "path_given",
    "require_create_if_absent",
    "require_free",
    "variables_of",
]

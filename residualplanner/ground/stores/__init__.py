"""Stores of objects that are written once, and that exist whole or not at all: folders and object stores.

`open_store` makes one from a path or from an address such as ``s3://bucket/prefix``.
"""

from residualplanner.ground.stores.bucket import (
    AnyPath,
    Bucket,
    ObjectStore,
    local_file,
    new_folder,
    open_store,
    path_at,
    path_given,
)
from residualplanner.ground.stores.object_store import Folder, Mark, marked, require_create_if_absent

__all__ = [
    "AnyPath",
    "Bucket",
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
]

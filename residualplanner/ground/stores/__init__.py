"""Stores of objects that are written once, and that exist whole or not at all: folders and object stores.

`open_store` makes one from a path or from an address such as ``s3://bucket/prefix``.
"""

from residualplanner.ground.stores.bucket import AnyPath, Bucket, ObjectStore, local_file, open_store, path_at
from residualplanner.ground.stores.object_store import Mark

__all__ = ["AnyPath", "Bucket", "Mark", "ObjectStore", "local_file", "open_store", "path_at"]

"""Stores of objects that are written once, and that exist whole or not at all: folders and object stores.

Reads: names and bytes.  Gives: ObjectStore.
`open_store` makes one from a path or from an address such as ``s3://bucket/prefix``.
"""

from residualplanner.stores.bucket import Bucket
from residualplanner.stores.folder import Folder
from residualplanner.stores.object_store import ObjectStore, require_create_if_absent
from residualplanner.stores.opening import open_store
from residualplanner.stores.reaching import Mark, marked, variables_of

__all__ = [
    "Bucket",
    "Folder",
    "Mark",
    "ObjectStore",
    "marked",
    "open_store",
    "require_create_if_absent",
    "variables_of",
]

"""A disk that is full, for tests."""

import resource
from contextlib import contextmanager


@contextmanager
def files_of_at_most(size):
    """Writing more fails, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

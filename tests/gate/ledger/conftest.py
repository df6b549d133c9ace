"""The system's calls as a ledger's file makes them, replaced by others; and a disk that is not waited for."""

import fcntl
import os
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from inner_parts import atomic
from inner_parts import file as ledger_file


@contextmanager
def replacing(**calls):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", calls.pop("flock", fcntl.flock))
        for module in (ledger_file, atomic):
            patch.setattr(module, "os", SimpleNamespace(**vars(os) | calls))
        yield


@pytest.fixture
def replaced():
    """A context in which calls, given by name, stand in the place of the system's."""
    return replacing


@pytest.fixture(scope="module")
def quick_disk():
    """Do not wait for the disk; other tests see to it that it is waited for."""
    with replacing(fsync=lambda _handle: None):
        yield

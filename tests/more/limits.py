"""Small cases that take the ways of large ones."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def limited(module: str, **limits: object) -> Iterator[None]:
    """Other limits of sizes, or of steps, in a module of the package."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(f"residualplanner.{module}.{name}", limit)
        yield

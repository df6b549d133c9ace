"""Parameters of a test that the quick suite leaves out."""

from typing import Any

import pytest


def slow(*values: Any, **options: Any) -> Any:
    """The values of one run of a test, which is marked slow."""
    return pytest.param(*values, marks=pytest.mark.slow, **options)

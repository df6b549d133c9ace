"""Other numbers that noisy answers lead to: non-negative, rounded, mixtures, records, and adaptive projection."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load what is public as `rp.microdata` when it is first looked up."""
    if name in {"microdata"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The method of the paper on its plain path: from a domain and queries to a plan, before any record is seen."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Load what is public as `rp.losses` when it is first looked up."""
    if name in {"losses", "privacy"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

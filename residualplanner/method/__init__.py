"""The method of the paper on its plain path: from a domain and queries to a plan, before any record is seen."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["losses", "privacy"])

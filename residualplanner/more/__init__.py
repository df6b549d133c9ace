"""What goes beyond the paper: more kinds of query, searches for bases, bounds, and other notions of cost."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["strategies"])

"""What every ring stands on: errors, checks of arguments, JSON, files that are written whole or not at all."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["errors"])

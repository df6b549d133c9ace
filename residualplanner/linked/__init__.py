"""Tables about the same units: households and the persons in them, firms and their jobs, patients and their visits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

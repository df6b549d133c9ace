"""What is published of a release: files in every format, pictures, maps and the report."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The command line, the session, and answers to the questions that come up before a plan is made."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["questions"])

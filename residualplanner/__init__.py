"""Plan, measure and reconstruct differentially private tables.

The flow: Domain, Workload, ``select`` a Plan without data, ``measure`` records, ``reconstruct`` a Release.

Each name is loaded when it is first used, so that planning does not wait for what only releases need; they are listed
in ``__init__.pyi`` (see Scientific Python's SPEC 1).
"""

import lazy_loader

from residualplanner.ground.version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

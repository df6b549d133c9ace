"""Checks for what you add: a kind of query, a basis, a form of records, a plan.

Each raises AssertionError, whose message says what is wrong, where, and what to look at.  They need no test runner, and
compute what they compare with by another road than the library: matrices written out, exact fractions, and loops.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

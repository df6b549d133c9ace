"""Microdata fitted to noisy answers, and how large their errors must be.

Everything here is post-processing: it sees no record and costs no privacy budget.
Source: Abowd, Ashmead, Cumings-Menon, Garfinkel, Kifer, Leclerc, Sexton, Simpson, Task and Zhuravlev, An Uncertainty
Principle is a Price of Privacy-Preserving Microdata (NeurIPS 2021); docs/mathematics.md section 14.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

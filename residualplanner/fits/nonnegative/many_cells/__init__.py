"""Non-negative tables of very many cells: in single precision, and records that cover what is missing.

Reads: a problem, facets.  Gives: Solution, with a proved gap.
"""

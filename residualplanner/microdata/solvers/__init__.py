"""The solvers behind fits: for many draws of the noise at once, or for millions of cells.

Reads: cells' own answers, sums of cells with errors or exact.  Gives: cells that are not negative, with a proved gap.
Source: spec eqs. (68) to (70) and (73) to (75).
"""

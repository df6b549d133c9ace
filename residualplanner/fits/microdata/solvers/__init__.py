"""The solvers behind fits: for many draws of the noise at once, or for millions of cells.

Reads: cells' own answers, sums of cells with errors or exact.  Gives: cells that are not negative, with a proved gap.
Source: eqs. (81) to (83) and (86) to (88).
"""

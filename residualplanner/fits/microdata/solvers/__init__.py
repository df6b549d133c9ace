"""The solvers behind fits: for many draws of the noise at once, or for millions of cells.

Source: eqs. (81) to (83) and (86) to (88).
"""

"""What tables that were made from unbiased ones have in common: files, parts, and simulations of their errors.

Reads: unbiased releases, and numbers made from them.  Gives: AdjustedRelease, of which non-negative and rounded
releases are the two sorts.
"""

"""Records from a release, and what to measure for them.

Everything here is post-processing, or planning: it sees no record and costs no privacy budget.
"""

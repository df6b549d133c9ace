"""Queries about some of the records, and r-of-k thresholds."""

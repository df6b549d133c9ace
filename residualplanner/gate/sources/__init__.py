"""Counts of confidential records, wherever the records are; no error carries a value away."""

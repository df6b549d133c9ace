"""Bases that an attribute has in one set and not in another: search, cost, accuracy, arrays for files."""

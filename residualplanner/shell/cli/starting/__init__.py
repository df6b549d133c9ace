"""Commented specs to start from.

The values of a column are never read from records.
"""

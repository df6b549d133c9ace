"""A release of very many tables as a folder of parts: Parquet files of about a million cells each.

However often a release was interrupted, its files are the same, byte for byte.
"""

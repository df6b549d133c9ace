"""A release of very many tables as a folder of parts: Parquet files of about a million cells each.

Which tables stand in which part follows from the workload alone, and what a part holds from the measurement alone:
however often a release was interrupted, its files are the same, byte for byte.
"""

"""Statistical classifications, geographies among them, from files and frames: levels of items with codes and names.

Reads: CSV files and data frames that are public.  Gives: Classification, and groups of its leaves.
"""

"""The schema of a table, declared before any record is read, and the codes of raw values.

Nothing here ever sees a data set: labels are never taken from the records.
"""

"""Commented specs to start from.

Reads: a schema, a data dictionary, or the names of the columns of a file of records.
Gives: a spec, in which columns whose values are not declared are left to be filled in.
The values of a column are never read from records.
"""

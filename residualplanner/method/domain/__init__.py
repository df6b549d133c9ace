"""The schema of a table, declared before any record is read, and the codes of raw values.

Every value of an attribute has a code 0 .. size-1.  Its values, an object of one family, give the codes of raw entries,
or `UNKNOWN` or `MISSING`, and the attribute's rules say what becomes of these.  Records count once each, or by a
`Weight`.  Nothing here ever sees a data set: labels are never taken from the records.
"""

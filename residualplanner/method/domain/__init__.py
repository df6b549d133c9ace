"""The schema of a table, declared before any record is read, and the codes of raw values.

Protocol: every value of an attribute has a code 0 .. size-1; `codes_of_values`, `codes_of_numbers` and `codes_of_days`
give the codes of raw entries, or `UNKNOWN` or `MISSING`, and the attribute's rules say what becomes of these.  The
values are an object of one family behind one protocol, `families.Values`.  Records count once each, or by a `Weight`.
Nothing here ever sees a data set: labels are never taken from the records.
"""

"""The gate between records and releases: counts, noise, and the files that hold the noisy answers.

Reads: a plan, confidential records, perhaps a ledger.  Gives: `Measurement`, all that ever leaves.
Protocol: everything that can be decided without a record is checked, records are counted, the exact cost is charged,
then noise is drawn; `require_measurable` stops before records.  What is raised leads to no record, and says what was
charged.
Source: eqs. (34) to (36) and (44) for discrete noise, eqs. (7) and (26) for continuous; paper Algorithms 1 and 3.
"""

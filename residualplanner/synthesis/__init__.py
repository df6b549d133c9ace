"""Records from a release: records whose tables are those of a mixture of products.

Reads: a release, facts.  Gives: records.  Costs no privacy budget.
"""

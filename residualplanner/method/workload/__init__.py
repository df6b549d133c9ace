"""The queries to publish, and the downward closure whose residuals answer them.

Protocol: queries are held by order as arrays of positions; `Workload.runs` gives them in runs; the closure numbers all
subsets of their attributes (paper section 4), and its arrays have an entry for each.
Nothing here ever sees a record.
"""

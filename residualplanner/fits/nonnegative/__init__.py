"""Tables that can be published as they are: non-negative, rounded, in agreement with what is known anyway.

Everything here is post-processing: it sees no record and costs no privacy budget.
"""

"""Kinds of query on one attribute: the basic matrices of generalized marginals.

Protocol: a `Kind` gives the products with its matrix W (q, n) that plans need, and labels for its answers; a kind that
is written in labels is tied to an attribute's values first (`tied_kind`).
Equation: an answer of a query is w_r applied along each axis of its table; the row of ones is in the row space of W,
unless W is a `Selection`, which is about some of the records only, or about amounts: a `Sum`, or the sums that a `Mean`
is made of.
Attributes of a joint kind, `Matching`, are answered together after that.
"""

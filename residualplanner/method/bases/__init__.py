"""The residual basis of one attribute: what is measured of it, and its factors of privacy cost and variances.

`subtraction_basis`, `integer_basis` and `nested_basis` make the sorts of `Basis`; nothing outside of this folder tells
them apart.  With T the row of ones above a residual matrix and ``[u | G]`` its pseudo-inverse, a query W is
``W (u 1^T + G S)``.  Source: eqs. (5), (8), (11), (12), (23) to (31), (35) and (36).
"""

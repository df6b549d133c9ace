"""The residual basis of one attribute: what is measured of it, and its factors of privacy cost and variances.

Source: eqs. (5), (8), (11), (12), (23) to (31), (35) and (36).
"""

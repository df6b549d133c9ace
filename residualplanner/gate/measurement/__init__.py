"""The gate between records and releases: counts, noise, and the files that hold the noisy answers.

Source: eqs. (34) to (36) and (44) for discrete noise, eqs. (7) and (26) for continuous; paper Algorithms 1 and 3.
"""

"""Figures for generalized marginals: as published for other methods, and as a prototype of our bases reached.

Source: He et al., ResidualPlanner+ (VLDB Journal), tables 7 to 14, all at privacy cost 1;
docs/mathematics.md section 10.
"""

#: How many leading attributes of each domain of `published.DOMAINS` are numerical, with prefix sums.
NUMERICAL = {"Adult": 5, "CPS": 2, "Loans": 4}

#: RMSE of 1-way, 2-way, 3-way and <=3-way prefix workloads: ResidualPlanner+, HDMM, prototype.
PREFIX_RMSE = {
    "Adult": ((5.114, 17.632, 47.193, 48.903), (5.648, 21.111, 60.025, 61.613), (4.991, 16.771, 43.693, 43.623)),
    "CPS": ((3.181, 6.357, 8.124, 8.392), (3.347, 6.625, 8.634, 8.623), (3.063, 5.816, 7.300, 7.562)),
    "Loans": ((4.728, 14.913, 36.108, 36.651), (5.127, 17.149, 42.938, 44.338), (4.615, 14.188, 33.414, 33.369)),
}

#: All k-way prefix sums on d equal attributes of size n, k = 1, 2, ..: best of HDMM's templates, ResidualPlanner+,
#: prototype.
K_WAY_PREFIX = {
    (5, 10): (
        (3.48, 6.32, 8.44, 9.40, 9.13),
        (2.94, 5.84, 9.00, 11.48, 12.58),
        (2.792, 5.241, 7.618, 9.080, 9.125),
    ),
    (10, 10): (
        (4.92, 12.90, 24.82, 39.95, 56.28),
        (3.91, 10.51, 22.50, 40.68, 64.26),
        (3.709, 9.472, 19.230, 32.931, 49.162),
    ),
    (20, 20): (
        (7.84, 39.51, 132.39, 369.15, 894.65, 1933.59, 3790.64),
        (6.31, 27.64, 97.23, 291.01, 765.37, 1805.21, 3872.58),
        (6.035, 25.311, 85.144, 243.596, 612.003, 1377.725, 2817.888),
    ),
}

#: One full product of d attributes of size 2, 4, .., 64, by kind and d: HDMM, ResidualPlanner+, and for d = 5 the
#: prototype.
FULL_PRODUCT_SIZES = (2, 4, 8, 16, 32, 64)
FULL_PRODUCT = {
    ("range", 3): ((1.39, 2.11, 3.34, 5.29, 8.18, 12.20), (1.39, 2.25, 3.64, 5.77, 8.87, 13.18)),
    ("range", 4): ((1.55, 2.70, 5.00, 9.23, 16.48, 28.09), (1.55, 2.95, 5.59, 10.34, 18.37, 31.13)),
    ("range", 5): (
        (1.73, 3.47, 7.47, 16.08, 33.21, 64.67),
        (1.73, 3.86, 8.60, 18.54, 38.03, 73.54),
        (1.726, 3.466, 7.469, 16.084, 33.208, 64.674),
    ),
    ("prefix", 3): ((1.50, 2.25, 3.34, 4.82, 6.77, 9.26), (1.50, 2.54, 4.01, 5.89, 8.23, 11.09)),
    ("prefix", 4): ((1.71, 2.95, 4.99, 8.15, 12.82, 19.44), (1.71, 3.47, 6.37, 10.64, 16.62, 24.73)),
    ("prefix", 5): (
        (1.96, 3.87, 7.45, 13.76, 24.25, 40.83),
        (1.96, 4.74, 10.12, 19.23, 33.56, 55.16),
        (1.960, 3.872, 7.453, 13.762, 24.250, 40.827),
    ),
}

#: Maximum variance of prefix workloads of at most 5,000 cells, 1-way, 2-way, 3-way, <=3-way: the paper's bases with
#: cost and variance computed for the same mechanism, a prototype, the bound of the row-weighted workload.
PREFIX_MAX = {
    "CPS": ((13.30, 71.93, 26.89, 81.86), (9.758, 35.70, 18.69, 42.34), (9.603, None, None, None)),
    "Adult": ((32.20, 202.85, 302.17, 369.24), (25.82, None, None, None), (25.53, None, None, None)),
    "Loans": ((28.07, 143.50, 190.64, None), (22.33, None, None, None), (22.06, None, None, None)),
}

"""Figures as published, and the domains they are for.

Source: He et al., ResidualPlanner+ (VLDB Journal), its tables for pure marginals at privacy cost 1;
docs/mathematics.md section 9.
"""

DOMAINS = {
    "Adult": (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2),
    "CPS": (100, 50, 7, 4, 2),
    "Loans": (101, 101, 101, 101, 51, 36, 15, 8, 6, 5, 4, 3),
}

#: Workloads by name: the arguments of ``marginals``.
WORKLOADS = {
    "1-way": {"order": 1},
    "2-way": {"order": 2},
    "3-way": {"order": 3},
    "4-way": {"order": 4},
    "5-way": {"order": 5},
    "<=3-way": {"up_to": 3},
    "small": {"max_cells": 5000},
}

RMSE = {
    "1-way": (3.047, 1.744, 2.875),
    "2-way": (6.359, 2.035, 5.634),
    "3-way": (10.515, 2.048, 8.702),
    "4-way": (14.656, 1.627, 11.267),
    "5-way": (17.844, 1.000, 12.678),
    "<=3-way": (10.665, 2.276, 8.876),
    "small": (9.945, 2.525, 8.206),
}

MAX_VARIANCE = {
    "1-way": (12.047, 4.346, 10.640),
    "2-way": (67.802, 7.897, 52.217),
    "3-way": (236.843, 7.706, 156.638),
    "4-way": (575.213, 4.141, 320.778),
    "5-way": (1030.948, 1.000, 474.243),
    "<=3-way": (253.605, 13.216, 180.817),
    "small": (126.902, 11.774, 89.873),
}

#: All marginals of at most three of 5 attributes of size n, by n: RMSE, maximum variance.
SYNTH_BY_SIZE = {
    2: (1.890, 4.148),
    4: (2.681, 9.760),
    8: (3.156, 15.643),
    16: (3.366, 20.067),
    32: (3.423, 22.811),
    64: (3.407, 24.345),
    128: (3.367, 25.157),
    256: (3.322, 25.574),
    512: (3.283, 25.786),
    1024: (3.251, 25.893),
}

#: All marginals of at most three of d attributes of size 10, by d: RMSE, maximum variance (None: not published).
SYNTH_BY_DIMENSION = {
    2: (1.379, 3.306),
    4: (2.345, 10.480),
    6: (4.275, 26.904),
    8: (6.638, 56.961),
    10: (9.348, 105.031),
    12: (12.359, 175.496),
    14: (15.642, 272.738),
    15: (17.378, 332.769),
    20: (26.916, 768.941),
    30: (49.713, 2540.440),
    50: (107.258, 11597.037),
    100: (303.216, 91960.917),
    200: (855.330, None),
}

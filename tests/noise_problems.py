"""Small problems of choosing noise: the costs of some sets, and how the variances of some queries come from them."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    queries, sets = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.uniform(0.05, 1, size=(queries, sets)) * (rng.random((queries, sets)) < 0.7)
    matrix[rng.integers(queries, size=sets), np.arange(sets)] += 0.1
    matrix[matrix.sum(axis=1) == 0, 0] = 0.1
    return rng.uniform(0.2, 1, size=sets), matrix

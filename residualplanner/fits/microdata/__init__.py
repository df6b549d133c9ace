"""Microdata fitted to noisy answers, and how large their errors must be.

Everything here is post-processing: it sees no record and costs no privacy budget.
Source: Abowd, Ashmead, Cumings-Menon, Garfinkel, Kifer, Leclerc, Sexton, Simpson, Task and Zhuravlev, An Uncertainty
Principle is a Price of Privacy-Preserving Microdata (NeurIPS 2021); docs/mathematics.md section 14.
"""

from residualplanner.fits.microdata.bounds import (
    Errors,
    errors_of_clipping,
    errors_of_sequential_fit,
    least_cell_error,
    least_total_error,
)
from residualplanner.fits.microdata.fit import (
    Fit,
    least_squares,
    least_squares_variance,
    nonnegative_least_squares,
    reweighted_fit,
    sequential_fit,
)
from residualplanner.fits.microdata.groups import (
    GroupAnswers,
    Marginal,
    NoisyGroups,
    Residual,
    groups_of_release,
)
from residualplanner.fits.microdata.largest_errors import max_fit
from residualplanner.fits.microdata.laws import Gaussian, Laplace, NoiseLaw, noise_for

__all__ = [
    "Errors",
    "Fit",
    "Gaussian",
    "GroupAnswers",
    "Laplace",
    "Marginal",
    "NoiseLaw",
    "NoisyGroups",
    "Residual",
    "errors_of_clipping",
    "errors_of_sequential_fit",
    "groups_of_release",
    "least_cell_error",
    "least_squares",
    "least_squares_variance",
    "least_total_error",
    "max_fit",
    "noise_for",
    "nonnegative_least_squares",
    "reweighted_fit",
    "sequential_fit",
]

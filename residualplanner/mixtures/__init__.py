"""Mixtures of products, fitted to noisy answers: records in distribution, and tables without a negative cell.

Reads: measured tables with their noise, as arrays.  Gives: Mixture, with all its tables.
Everything here is post-processing: it sees no record and costs no privacy budget.
Source: docs/mathematics.md section 13.
"""

from residualplanner.mixtures.blocks import Blocks
from residualplanner.mixtures.controlling import controlled_records
from residualplanner.mixtures.descent import Descent, Fit, Start, fit
from residualplanner.mixtures.ensemble import Ensemble, EnsembleFit, fit_ensemble
from residualplanner.mixtures.khatri_rao import balanced_split, khatri_rao, product_sums, slopes_of_product_sums
from residualplanner.mixtures.loss import Loss, loss_of
from residualplanner.mixtures.mixture import Mixture, averaged, mixture_of
from residualplanner.mixtures.raking import raked
from residualplanner.mixtures.rounding import Report, even_records, independent_records, unreported
from residualplanner.mixtures.starting import denoised, start_at, start_near
from residualplanner.mixtures.support import Possible, supports
from residualplanner.mixtures.terms import Measured, Point, TableTerm, Term
from residualplanner.mixtures.views import Centered, Features, Rows, Values, View, features_of

__all__ = [
    "Blocks",
    "Centered",
    "Descent",
    "Ensemble",
    "EnsembleFit",
    "Features",
    "Fit",
    "Loss",
    "Measured",
    "Mixture",
    "Point",
    "Possible",
    "Report",
    "Rows",
    "Start",
    "TableTerm",
    "Term",
    "Values",
    "View",
    "averaged",
    "balanced_split",
    "controlled_records",
    "denoised",
    "even_records",
    "features_of",
    "fit",
    "fit_ensemble",
    "independent_records",
    "khatri_rao",
    "loss_of",
    "mixture_of",
    "product_sums",
    "raked",
    "slopes_of_product_sums",
    "start_at",
    "start_near",
    "supports",
    "unreported",
]

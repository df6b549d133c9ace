"""Mixtures of products, fitted to noisy answers: records in distribution, and tables without a negative cell.

Reads: measured tables with their noise, as arrays.  Gives: Mixture, with all its tables.
Everything here is post-processing: it sees no record and costs no privacy budget.
Source: docs/mathematics.md section 13.
"""

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.controlling import controlled_records
from residualplanner.fits.mixtures.descent import Descent, Fit, Start, fit
from residualplanner.fits.mixtures.ensemble import Ensemble, EnsembleFit, fit_ensemble
from residualplanner.fits.mixtures.khatri_rao import balanced_split, khatri_rao, product_sums, slopes_of_product_sums
from residualplanner.fits.mixtures.loss import Loss, loss_of
from residualplanner.fits.mixtures.mixture import Mixture, averaged, mixture_of
from residualplanner.fits.mixtures.raking import raked
from residualplanner.fits.mixtures.rounding import Report, even_records, independent_records, unreported
from residualplanner.fits.mixtures.starting import denoised, start_at, start_near
from residualplanner.fits.mixtures.support import Possible, supports
from residualplanner.fits.mixtures.terms import Measured, Point, TableTerm, Term
from residualplanner.fits.mixtures.views import Centered, Features, Rows, Values, View, features_of

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

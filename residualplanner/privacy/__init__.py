"""Budgets, and what they promise in every notion of privacy.  Numbers only: nothing here has seen data or a domain."""

from residualplanner.privacy.budget import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.privacy.claim import PrivacyClaim, claim_of_budget, python_text, require_discrete
from residualplanner.privacy.gaussian_curve import delta_of_gdp, epsilon_of_gdp, mu_of_approx_dp
from residualplanner.privacy.neighbors import Neighbors, Notion
from residualplanner.privacy.noise_laws import Holding, Noise
from residualplanner.privacy.zcdp_curve import delta_of_zcdp, epsilon_of_zcdp, rho_of_approx_dp

__all__ = [
    "Budget",
    "Holding",
    "Neighbors",
    "Noise",
    "Notion",
    "PrivacyClaim",
    "approx_dp",
    "claim_of_budget",
    "delta_of_gdp",
    "delta_of_zcdp",
    "epsilon_of_gdp",
    "epsilon_of_zcdp",
    "gdp",
    "mu_of_approx_dp",
    "pcost",
    "python_text",
    "require_discrete",
    "rho_of_approx_dp",
    "zcdp",
]

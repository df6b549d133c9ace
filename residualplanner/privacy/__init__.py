"""Budgets, and what they promise in every notion of privacy.  Numbers only: nothing here has seen data or a domain."""

from residualplanner.privacy.budget import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.privacy.gaussian_curve import delta_of_gdp, epsilon_of_gdp, mu_of_approx_dp
from residualplanner.privacy.neighbors import Neighbors, Notion
from residualplanner.privacy.zcdp_curve import delta_of_zcdp, epsilon_of_zcdp, rho_of_approx_dp

__all__ = [
    "Budget",
    "Neighbors",
    "Notion",
    "approx_dp",
    "delta_of_gdp",
    "delta_of_zcdp",
    "epsilon_of_gdp",
    "epsilon_of_zcdp",
    "gdp",
    "mu_of_approx_dp",
    "pcost",
    "rho_of_approx_dp",
    "zcdp",
]

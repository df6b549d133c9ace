"""Budgets, and what they promise in every notion of privacy.

Every number is rounded to the safe side, with integers, fractions or 80 digits.
Source: eqs. (2), pcost = 2 rho = mu**2, (3), the curve of continuous Gaussian noise, and (4), that of zCDP.
Nothing here has seen data or a domain.
"""

from residualplanner.ground.words import Notion
from residualplanner.method.privacy.budget import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.method.privacy.claim import (
    Neighbors,
    PrivacyClaim,
    budget_within,
    claim_of_budget,
    cost_text_down,
    cost_text_up,
    python_text,
    require_discrete,
)
from residualplanner.method.privacy.curves import GDP, ZCDP, Holding, Noise

__all__ = [
    "GDP",
    "ZCDP",
    "Budget",
    "Holding",
    "Neighbors",
    "Noise",
    "Notion",
    "PrivacyClaim",
    "approx_dp",
    "budget_within",
    "claim_of_budget",
    "cost_text_down",
    "cost_text_up",
    "gdp",
    "pcost",
    "python_text",
    "require_discrete",
    "zcdp",
]

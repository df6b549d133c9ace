"""Unbiased tables from noisy answers, with exact standard errors, and statistics of several answers."""

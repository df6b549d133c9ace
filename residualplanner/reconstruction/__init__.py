"""Unbiased tables from noisy residual answers, with exact standard errors, and their export."""

from residualplanner.reconstruction.release import Release, TableBatch, reconstruct
from residualplanner.reconstruction.table import Estimate, Table, normal_quantile, require_free_names

__all__ = ["Estimate", "Release", "Table", "TableBatch", "normal_quantile", "reconstruct", "require_free_names"]

"""Unbiased tables from noisy residual answers, with exact standard errors, and their export."""

from residualplanner.reconstruction.release import Release, TableBatch, reconstruct
from residualplanner.reconstruction.table import Estimate, Table

__all__ = ["Estimate", "Release", "Table", "TableBatch", "reconstruct"]

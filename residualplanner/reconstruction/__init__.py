"""Unbiased tables from noisy residual answers, with exact standard errors, and their export."""

from residualplanner.reconstruction.files.export import require_exportable
from residualplanner.reconstruction.files.export_files import FormatName
from residualplanner.reconstruction.files.reading import SavedTable, SavedTables, load_tables
from residualplanner.reconstruction.profiles import ProfileName, level_of
from residualplanner.reconstruction.release import Release, TableBatch, reconstruct
from residualplanner.reconstruction.table import Estimate, Table

__all__ = [
    "Estimate",
    "FormatName",
    "ProfileName",
    "Release",
    "SavedTable",
    "SavedTables",
    "Table",
    "TableBatch",
    "level_of",
    "load_tables",
    "reconstruct",
    "require_exportable",
]

"""Unbiased tables from noisy residual answers, with exact standard errors.

Reads: a measurement, or the folder of a release.
Gives: Release and SavedTables, mappings from queries to tables, and the files of a release.
Source: eqs. (10), (13) and (25), which turn residual answers into tables; eq. (38) where bases vary by set.
Everything here is post-processing: it sees no record and costs no privacy budget.
"""

from residualplanner.kron import Device, cuda_device
from residualplanner.reconstruction.batches import TableBatch
from residualplanner.reconstruction.choropleths import (
    LEGENDS,
    Areas,
    Shown,
    areas_with_shapes,
    choropleth,
    no_shapes,
    require_shapes,
)
from residualplanner.reconstruction.estimate import Estimate
from residualplanner.reconstruction.files.export import require_exportable, save_tables
from residualplanner.reconstruction.files.export_files import (
    BOOK_FORMAT,
    MOST_FILES,
    PARTS_FORMAT,
    FormatName,
    chosen_format,
)
from residualplanner.reconstruction.files.reading import SavedTable, SavedTables, load_tables
from residualplanner.reconstruction.files.sidecar import PUBLISHED_ERRORS, PUBLISHED_ERRORS_FILE
from residualplanner.reconstruction.files.statistic_form import StatisticForm, statistic_form, statistics_sentence
from residualplanner.reconstruction.files.statistics import published_values
from residualplanner.reconstruction.forms.for_mbi import MbiProblem
from residualplanner.reconstruction.origin import Origin, Provenance, unlimited
from residualplanner.reconstruction.parts.layout import Layout, layout_of, part_name
from residualplanner.reconstruction.parts.numbers import (
    SENT,
    UNBIASED_NUMBERS,
    BesideUnbiased,
    PartNumbers,
    RunOfTables,
    UnbiasedNumbers,
)
from residualplanner.reconstruction.parts.reading import SavedParts
from residualplanner.reconstruction.parts.saving import save_parts
from residualplanner.reconstruction.product import UNBIASED, Product
from residualplanner.reconstruction.profiles import ProfileName, level_of, profile_named
from residualplanner.reconstruction.publication import Publication
from residualplanner.reconstruction.quality import Quality
from residualplanner.reconstruction.rebuilding import components_of_answers
from residualplanner.reconstruction.reconstruct import reconstruct, release_of
from residualplanner.reconstruction.release import Release
from residualplanner.reconstruction.release_tables import ReleaseTables
from residualplanner.reconstruction.table import Table
from residualplanner.reconstruction.tables import Tables

__all__ = [
    "BOOK_FORMAT",
    "LEGENDS",
    "MOST_FILES",
    "PARTS_FORMAT",
    "PUBLISHED_ERRORS",
    "PUBLISHED_ERRORS_FILE",
    "SENT",
    "UNBIASED",
    "UNBIASED_NUMBERS",
    "Areas",
    "BesideUnbiased",
    "Device",
    "Estimate",
    "FormatName",
    "Layout",
    "MbiProblem",
    "Origin",
    "PartNumbers",
    "Product",
    "ProfileName",
    "Provenance",
    "Publication",
    "Quality",
    "Release",
    "ReleaseTables",
    "RunOfTables",
    "SavedParts",
    "SavedTable",
    "SavedTables",
    "Shown",
    "StatisticForm",
    "Table",
    "TableBatch",
    "Tables",
    "UnbiasedNumbers",
    "areas_with_shapes",
    "choropleth",
    "chosen_format",
    "components_of_answers",
    "cuda_device",
    "layout_of",
    "level_of",
    "load_tables",
    "no_shapes",
    "part_name",
    "profile_named",
    "published_values",
    "reconstruct",
    "release_of",
    "require_exportable",
    "require_shapes",
    "save_parts",
    "save_tables",
    "statistic_form",
    "statistics_sentence",
    "unlimited",
]

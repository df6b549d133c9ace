"""Statistical classifications, geographies among them, from files and frames: levels of items with codes and names.

Reads: CSV files and data frames that are public.  Gives: Classification, and groups of its leaves.
"""

from residualplanner.queries.classifications.classification import Classification, Item, RowItem
from residualplanner.queries.classifications.crosswalks import CrosswalkColumns, crosswalk
from residualplanner.queries.classifications.frames import table_of_frame
from residualplanner.queries.classifications.layouts import GivenLevels, classification_of_table
from residualplanner.queries.classifications.text_table import Origin, TextTable, table_of_file

__all__ = [
    "Classification",
    "CrosswalkColumns",
    "GivenLevels",
    "Item",
    "Origin",
    "RowItem",
    "TextTable",
    "classification_of_table",
    "crosswalk",
    "table_of_file",
    "table_of_frame",
]

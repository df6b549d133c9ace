"""Counts of confidential records, wherever the records are.

Reads: data frames of many libraries, engines such as Spark, CSV and Parquet files, matrices of codes, ready counts.
Gives: `Source`, whose ``count`` tells how many records fall in each cell of each table (eq. (1)).
`open_source` refuses what can be refused before a charge, such as missing columns; ``count`` reads the records.
Everything here holds confidential data: only `measurement` may import it, and no error carries a value away.
"""

from residualplanner.sources.clusters import Cluster, CountingTask, open_cluster
from residualplanner.sources.counting import count_groups
from residualplanner.sources.csv_files import CsvFile, first_bad_byte
from residualplanner.sources.engines import require_ready_engine, require_result_room, workers_of
from residualplanner.sources.merging import NOTHING_MERGED, MergedValues
from residualplanner.sources.opening import columns_of, is_read_once, open_source, require_here, watched_source
from residualplanner.sources.people import (
    PERSON_CHANGES,
    KeptRecords,
    LimitedRecords,
    kept_from_json,
    kept_records,
    kept_to_json,
    require_public_number,
)
from residualplanner.sources.rules import words_of_code
from residualplanner.sources.source import Progress, Source, guarded
from residualplanner.sources.tally import Offenders, Tally

__all__ = [
    "NOTHING_MERGED",
    "PERSON_CHANGES",
    "Cluster",
    "CountingTask",
    "CsvFile",
    "KeptRecords",
    "LimitedRecords",
    "MergedValues",
    "Offenders",
    "Progress",
    "Source",
    "Tally",
    "columns_of",
    "count_groups",
    "first_bad_byte",
    "guarded",
    "is_read_once",
    "kept_from_json",
    "kept_records",
    "kept_to_json",
    "open_cluster",
    "open_source",
    "require_here",
    "require_public_number",
    "require_ready_engine",
    "require_result_room",
    "watched_source",
    "words_of_code",
    "workers_of",
]

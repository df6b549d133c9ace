"""Counts of confidential records, wherever the records are.

Reads: data frames of many libraries, engines such as Spark, CSV and Parquet files, matrices of codes, ready counts.
Gives: `Source`, whose ``count`` tells how many records fall in each cell of each table (eq. (1)).
`open_source` refuses what can be refused before a charge, such as missing columns; ``count`` reads the records.
Everything here holds confidential data: only `measurement` may import it, and no error carries a value away.
"""

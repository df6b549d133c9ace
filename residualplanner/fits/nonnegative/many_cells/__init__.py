"""Non-negative tables of very many cells: in single precision, and records that cover what is missing."""

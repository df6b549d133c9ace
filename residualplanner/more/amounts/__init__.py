"""Amounts: columns of numbers, weights of records, and the kinds of query for sums and statistics of them."""

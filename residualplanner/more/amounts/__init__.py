"""Amounts: columns of numbers, weights of records, and the kinds of query for sums, means and quantiles."""

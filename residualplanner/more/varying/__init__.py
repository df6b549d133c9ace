"""Costs and tables where an attribute has other bases in other sets."""

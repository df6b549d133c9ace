"""Nested bases: groups of values, groups of groups, and nothing of size n x n."""

"""The messages of the command line.

Reads: plans, workloads, releases, errors.
Gives: progress, summaries, sizes and failures, as lines for people or as JSON for programs.
No message depends on the records, except through what is published.
"""

"""The spec: the TOML file that says what to publish.

Reads: a TOML file, and the options typed in place of its entries.
Gives: SpecFile, and from it a domain, a workload, a budget and a plan.
Each wrong entry is refused with a line that says where it is and what to write instead.
"""

"""Releases as files, written and read back.

Reads: tables, a plan and its noise; or the folder of a release.
Gives: tables in several formats and profiles, their metadata and a manifest; or SavedTables.
A folder is written whole or not at all, and only what follows from its plan is believed of what it says of privacy.
"""

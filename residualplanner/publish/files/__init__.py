"""Releases as files, written and read back."""

"""Releases as files: tables in several formats and profiles, what they mean, and reading them back."""

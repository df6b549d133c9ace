"""Measuring where the records are: workers draw the noise, each exactly once, and keep the answers in a store.

Order: everything foreseeable is checked, the release is opened in the store, the ledger is charged; workers claim a
task, draw, and publish its answers; the manifest comes last, and nothing reads an answer but through it.
"""

"""The only rooms that see records: sources, the ledger, noise, and what is measured with it."""

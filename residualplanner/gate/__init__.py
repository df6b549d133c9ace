"""What sees records: sources, the ledger, noise, and what is measured with it."""

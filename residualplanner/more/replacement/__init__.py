"""What replacing a record costs, where neighbors are of one size."""

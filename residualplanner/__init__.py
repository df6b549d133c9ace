"""Plan, measure and reconstruct differentially private tables."""

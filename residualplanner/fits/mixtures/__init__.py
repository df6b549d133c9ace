"""Mixtures of products, fitted to noisy answers: records in distribution, and tables without a negative cell."""

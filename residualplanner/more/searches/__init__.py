"""The best basis of every attribute for a loss."""

"""The nearest non-negative tables where there are so few cells that a matrix of all of them can be factored."""

"""What the command line says: progress, summaries, sizes, and what went wrong."""

"""Numbers that take the place of unbiased ones in a release, and the rounding of these."""

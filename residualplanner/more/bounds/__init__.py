"""What no mechanism of any kind can beat: the singular value bound, eq. (33)."""

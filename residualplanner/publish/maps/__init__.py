"""Maps: the boundaries of areas from GeoJSON, and areas colored by their numbers."""

"""Maps: the boundaries of areas from GeoJSON, and areas colored by their numbers."""

from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleths import areas_without_shape, choropleth, require_shapes

__all__ = ["Boundaries", "areas_without_shape", "choropleth", "require_shapes"]

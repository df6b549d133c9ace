"""Maps: the boundaries of areas from GeoJSON, and areas colored by their numbers."""

from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleths import (
    LEGENDS,
    Areas,
    Shown,
    areas_with_shapes,
    choropleth,
    no_shapes,
    require_shapes,
)

__all__ = [
    "LEGENDS",
    "Areas",
    "Boundaries",
    "Shown",
    "areas_with_shapes",
    "choropleth",
    "no_shapes",
    "require_shapes",
]

"""Maps: the boundaries of areas from GeoJSON, and areas colored by their numbers.

Reads: GeoJSON that is public, numbers by code.  Gives: Boundaries, matplotlib figures.
"""

from residualplanner.publish.maps.boundaries import Boundaries
from residualplanner.publish.maps.choropleth import draw_choropleth
from residualplanner.publish.maps.choropleths import (
    LEGENDS,
    Areas,
    Shown,
    areas_with_shapes,
    choropleth,
    no_shapes,
    require_shapes,
)
from residualplanner.publish.maps.classes import ColorClasses, classes_of_estimates, classes_of_variation

__all__ = [
    "LEGENDS",
    "Areas",
    "Boundaries",
    "ColorClasses",
    "Shown",
    "areas_with_shapes",
    "choropleth",
    "classes_of_estimates",
    "classes_of_variation",
    "draw_choropleth",
    "no_shapes",
    "require_shapes",
]

"""Maps: the boundaries of areas from GeoJSON, and areas colored by their numbers.

Reads: GeoJSON that is public, numbers by code.  Gives: Boundaries, matplotlib figures.
"""

from residualplanner.pictures.maps.boundaries import Boundaries
from residualplanner.pictures.maps.choropleth import draw_choropleth
from residualplanner.pictures.maps.classes import ColorClasses, classes_of_estimates, classes_of_variation

__all__ = ["Boundaries", "ColorClasses", "classes_of_estimates", "classes_of_variation", "draw_choropleth"]

"""From longitudes and latitudes to a picture: in true proportions, in one piece, with no more points than it can show.

Reads: rings.  Gives: rings in the plane.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from residualplanner.ground.checks import FloatArray

#: How many steps of a grid the longer side of a map has: points that fall on one are drawn once.
_STEPS = 2_000
Rings = Mapping[str, tuple[FloatArray, ...]]


def plane_rings(rings: Rings) -> dict[str, tuple[FloatArray, ...]]:
    """The rings of areas in the plane, (m, 2) each, without points that would coincide in a picture.

    Degrees are made of one length in the middle of the map, as in an equirectangular projection, and areas on both
    sides of the 180th meridian brought together.  Other units are kept.  An area keeps its outline however small it is.

    Args:
        rings: by code those of an area; there is at least one.
    """
    every = np.concatenate([ring for each in rings.values() for ring in each])
    is_degrees = bool((np.abs(every[:, 0]) <= 180).all() and (np.abs(every[:, 1]) <= 90).all())
    placed = _in_one_piece(rings) if is_degrees else dict(rings)
    middle = np.radians((every[:, 1].min() + every[:, 1].max()) / 2) if is_degrees else 0.0
    scaled = {code: [ring * [np.cos(middle), 1.0] for ring in each] for code, each in placed.items()}
    points = np.concatenate([ring for each in scaled.values() for ring in each])
    step = max(float(np.ptp(points, axis=0).max()), 1e-12) / _STEPS
    return {code: _thinned(each, step) for code, each in scaled.items()}


def _in_one_piece(rings: Rings) -> dict[str, tuple[FloatArray, ...]]:
    """The rings with the map cut along the widest stretch of longitudes without areas, not along the 180th meridian."""
    ranges = sorted((float(ring[:, 0].min()), float(ring[:, 0].max())) for each in rings.values() for ring in each)
    end, widest, cut = ranges[0][1], 0.0, None
    for low, high in ranges[1:]:
        if low - end > widest:
            widest, cut = low - end, end
        end = max(end, high)
    if cut is None or widest <= ranges[0][0] + 360 - end:
        return dict(rings)
    return {
        code: tuple(ring - [360.0, 0.0] if ring[:, 0].min() > cut else ring for ring in each)
        for code, each in rings.items()
    }


def _thinned(rings: Sequence[FloatArray], step: float) -> tuple[FloatArray, ...]:
    """Rings with points on a grid, each once in a row; rings that this makes a point or a line are left out."""
    found = [_on_grid(ring, step) for ring in rings]
    kept = tuple(ring for ring in found if len(ring) >= 4)
    return kept or tuple(rings[:1])


def _on_grid(ring: FloatArray, step: float) -> FloatArray:
    on_grid = np.round(ring / step) * step
    is_new = np.append(True, (np.diff(on_grid, axis=0) != 0).any(axis=1))
    return np.asarray(on_grid[is_new])

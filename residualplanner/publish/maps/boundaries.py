"""The boundaries of areas, by code, from GeoJSON, and from longitudes and latitudes to a picture.

GeoJSON may come from anyone; it is public, so messages show its values.
Source: RFC 7946, "The GeoJSON Format".
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, frozen, limited_bytes, value_text
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import parse_json
from residualplanner.ground.words import count_text, listed

#: The largest file, in bytes; the most areas, and the most positions of all together.
SIZE_LIMIT, AREA_LIMIT, POSITION_LIMIT = 2**26, 100_000, 2_000_000
#: The rings of areas by their codes, (m, 2) each.
Rings = Mapping[str, tuple[FloatArray, ...]]
#: How many steps of a grid the longer side of a map has: points that fall on one are drawn once.
_STEPS = 2_000
#: What to do about files that are no feature collections, such as TopoJSON.
_REMEDY = 'write {"type": "FeatureCollection", "features": [...]}, with a feature for each area, as ogr2ogr does'


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Boundaries:
    """The boundaries of areas by their codes: for each area the rings of its polygons, outer ones and holes.

    Attributes:
        rings: by code the rings of an area, each (m, 2), closed; outer rings are counterclockwise, holes clockwise.
            Areas without a shape have none.
    """

    rings: Rings

    def __repr__(self) -> str:
        return f"<Boundaries of {count_text(len(self.rings), 'area')}>"

    @classmethod
    def from_geojson(cls, source: PathLike | Mapping[str, Any], code: str) -> "Boundaries":
        """Read the areas of a GeoJSON feature collection: polygons and multipolygons, with holes.

        Args:
            source: the path of a file, or what it holds as a mapping.
            code: the property of each feature that has its code, as text; "id" may also be the feature's own.

        Raises:
            FileFormatError: it is too large, or no such feature collection; a feature has no code or one that is not
                text, as "01" is not 1; a polygon has fewer than four positions, or is not closed.
            OSError: the file cannot be opened.

        Example:
            >>> square = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
            >>> feature = {"type": "Feature", "properties": {"GEOID": "01001"}, "geometry": {"type": "Polygon"}}
            >>> feature["geometry"]["coordinates"] = square
            >>> Boundaries.from_geojson({"type": "FeatureCollection", "features": [feature]}, code="GEOID")
            <Boundaries of 1 area>
        """
        if not isinstance(source, str | os.PathLike):
            return cls(_rings_of_features("the GeoJSON", source, code))
        name = Path(source).name
        content = limited_bytes(source, SIZE_LIMIT, name=name, remedy="simplify its shapes")
        try:
            value = parse_json(content.decode("utf-8-sig"))
        except (UnicodeDecodeError, FileFormatError) as error:
            raise FileFormatError(f"{name} is not GeoJSON: {error}") from None
        return cls(_rings_of_features(name, value, code))


def _rings_of_features(name: str, value: Any, code: str) -> dict[str, tuple[FloatArray, ...]]:
    features = value.get("features") if isinstance(value, Mapping) else None
    if not isinstance(features, list) or value.get("type") != "FeatureCollection" or not features:
        raise FileFormatError(f"{name} is no GeoJSON feature collection with features; {_REMEDY}")
    if len(features) > AREA_LIMIT:
        raise FileFormatError(f"{name} has {len(features):,} features; the limit is {AREA_LIMIT:,}")
    found: dict[str, tuple[FloatArray, ...]] = {}
    positions = 0
    for number, feature in enumerate(features, 1):
        where = f"{name}, feature {number}"
        if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
            raise FileFormatError(f"{where}: not a GeoJSON feature")
        key = _code_of(where, feature, code)
        rings = tuple(_rings(f"{where} ({key})", feature.get("geometry")))
        positions += sum(map(len, rings))
        if positions > POSITION_LIMIT:
            raise FileFormatError(f"{name} has more than {POSITION_LIMIT:,} positions; simplify its shapes")
        found[key] = found.get(key, ()) + rings
    return found


def _code_of(where: str, feature: Mapping[str, Any], code: str) -> str:
    properties = feature.get("properties")
    own = properties if isinstance(properties, Mapping) else {}
    found = own.get(code, feature.get("id") if code == "id" else None)
    if not isinstance(found, str) or not found:
        has = listed((f"{name}: {value_text(each)}" for name, each in own.items()), 20) or "none"
        raise FileFormatError(f"{where}: no property {code!r} that is text, as '01' is not 1; its properties are {has}")
    return found


def _rings(where: str, geometry: Any) -> Iterator[FloatArray]:
    """The closed rings of a polygon or multipolygon, (m, 2) each; none where a feature has no shape."""
    if geometry is None:
        return
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind not in ("Polygon", "MultiPolygon"):
        raise FileFormatError(f"{where}: the geometry must be a Polygon or a MultiPolygon, got {value_text(kind)}")
    coordinates = geometry.get("coordinates")
    for polygon in [coordinates] if kind == "Polygon" else _listed(where, coordinates):
        for number, positions in enumerate(_listed(where, polygon)):
            ring = _ring(where, positions)
            x, y = ring.T
            is_counterclockwise = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() > 0
            # Outer rings are turned counterclockwise, others clockwise: so holes stay open however they were written.
            is_right = is_counterclockwise == (number == 0)
            yield frozen(ring if is_right else ring[::-1].copy())


def _listed(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise FileFormatError(f"{where}: expected a list of coordinates, got {value_text(value)}")
    return value


def _ring(where: str, positions: Any) -> FloatArray:
    for each in _listed(where, positions):
        numbers = each if isinstance(each, list) and 2 <= len(each) <= 4 else [None]
        if not all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e12 for x in numbers):
            raise FileFormatError(f"{where}: a position must be a list of two numbers, such as [-86.5, 32.5]")
    if len(positions) < 4 or positions[0][:2] != positions[-1][:2]:
        raise FileFormatError(f"{where}: a ring must have at least four positions, of which the last is the first")
    return np.array([position[:2] for position in positions], dtype=np.float64)


def plane_rings(rings: Rings) -> dict[str, tuple[FloatArray, ...]]:
    """The rings of areas in the plane, (m, 2) each, without points that would coincide in a picture.

    Degrees are made of one length in the middle of the map, and areas on both sides of the 180th meridian brought
    together; other units are kept.  An area keeps its outline however small it is.
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
    ranges = sorted((ring[:, 0].min(), ring[:, 0].max()) for each in rings.values() for ring in each)
    lows, highs = np.transpose(ranges)
    ends = np.maximum.accumulate(highs)
    gaps = lows[1:] - ends[:-1]
    # the last stretch goes from the last area across the 180th meridian to the first one
    if gaps.max(initial=0) <= lows[0] + 360 - ends[-1]:
        return dict(rings)
    cut, turn = ends[gaps.argmax()], np.array([360.0, 0.0])
    return {code: tuple(r - turn if r[:, 0].min() > cut else r for r in each) for code, each in rings.items()}


def _thinned(rings: Sequence[FloatArray], step: float) -> tuple[FloatArray, ...]:
    """Rings with points on a grid, each once in a row; rings that this makes a point or a line are left out."""
    kept = []
    for on_grid in (np.round(ring / step) * step for ring in rings):
        is_new = np.append(True, (np.diff(on_grid, axis=0) != 0).any(axis=1))
        if is_new.sum() >= 4:
            kept.append(on_grid[is_new])
    return tuple(kept or rings[:1])

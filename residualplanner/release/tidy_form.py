"""A table in other forms: tidy, with a row for each cell, as consoles show it, and as libraries hold it."""

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import needing
from residualplanner.ground.notebooks import ROWS, html_table, rest_note
from residualplanner.ground.words import AMONG, COUNTS, TOTAL, count_text, number_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.release.heading import Heading
from residualplanner.release.product import unlimited
from residualplanner.release.profiles import QUERY, Profile, ProfileName, level_of, profile_named, require_free_names
from residualplanner.release.quality import Quality

if TYPE_CHECKING:
    import xarray as xr

#: What a column beside the labels is, by the word that its name ends in.
BESIDE = {
    "meaning": "the meaning of the label in the column before it",
    "level": "the level of the classification that the label is of",
    "code": "the code of the label in its level",
    "name": "the name of what the code stands for",
    "parent": "the label of what it is a part of, in the same column of labels; empty for none",
}


def label_columns(attribute: Attribute, kind: Kind) -> dict[str, tuple[object, ...]]:
    """The columns of one axis of a table, by name: the labels of its answers, and what the kind has beside them."""
    beside = kind.columns_beside(attribute)
    return {attribute.name: kind.labels(attribute)} | {name_beside(attribute, word): beside[word] for word in beside}


def name_beside(attribute: Attribute, word: str) -> str:
    """The name of a column beside the labels of an attribute, as ``sex_meaning``."""
    return f"{attribute.name}_{word}"


def label_column_names(axes: Iterable[tuple[Attribute, Iterable[Kind]]]) -> list[str]:
    """The names of all such columns of attributes with kinds; one is there twice if two attributes have it."""
    every = ({name: None for kind in kinds for name in label_columns(attribute, kind)} for attribute, kinds in axes)
    return [name for names in every for name in names]


def tidy_columns(
    heading: Heading,
    axes: Sequence[tuple[Attribute, Kind]],
    estimate: FloatArray,
    std_err: FloatArray,
    *,
    level: float | None,
    profile: ProfileName,
    quality: Quality | None,
) -> dict[str, Any]:
    """The columns of a table as rows, by name, in their order; options and errors as of `Table.to_frame`."""
    import pandas as pd

    product, origin = heading.provenance.product, heading.provenance.origin
    chosen = profile_named(profile).of(product, with_intervals=origin is not None).graded(quality)
    require_free_names(label_column_names((attribute, [kind]) for attribute, kind in axes), chosen)
    indices = np.indices(estimate.shape).reshape(len(axes), estimate.size)
    columns: dict[str, Any] = {
        name: pd.Series(list(labels)).take(index).array
        for axis, index in zip(axes, indices, strict=True)
        for name, labels in label_columns(*axis).items()
    }
    return columns | number_columns(heading, chosen, estimate, std_err, level_of(profile, level))


def number_columns(
    heading: Heading, profile: Profile, estimate: FloatArray, std_err: FloatArray, level: float
) -> dict[str, Any]:
    """The columns of a table beside its labels, by name, (cells,) each."""
    words = {}
    if profile.is_described:
        words[QUERY] = cell_words(heading.names, heading.labels_in_words, heading.universe)
    origin = (heading.provenance.origin or unlimited(estimate)).raveled()
    return words | profile.numbers(estimate.ravel(), std_err.ravel(), level, origin=origin)


def cell_words(names: Sequence[str], labels: Sequence[Sequence[str]], universe: str = "") -> list[str]:
    """Every cell of a table in words, in C order, and which records the table is about, where these are not all."""
    pairs = [[f"{name}={label}" for label in entries] for name, entries in zip(names, labels, strict=True)]
    about = f"{AMONG}{universe}" if universe else ""
    return [(", ".join(words) or TOTAL) + about for words in itertools.product(*pairs)]


def text_of(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> str:
    """A table as a console shows it: a row for each cell, up to a number of rows."""
    names, words = heading.names, [[str(entry) for entry in row] for row in _rows(heading, estimate, std_err)]
    lines = [[*names, *heading.provenance.product.columns], *words]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    signs = ["<"] * len(names) + [">", ">"]  # numbers stand on the right
    body = [
        "  ".join(f"{entry:{sign}{width}}" for entry, sign, width in zip(line, signs, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join(filter(None, [_title(heading, estimate), *body, _note(estimate)]))


def html_of(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> str:
    """A table as a notebook shows it: the same rows."""
    head, rows = [*heading.names, *heading.provenance.product.columns], _rows(heading, estimate, std_err)
    return html_table(_title(heading, estimate), head, rows, note=_note(estimate))


def xarray_of(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> "xr.Dataset":
    """A table as an xarray data set, with labels along each axis; MissingExtraError where xarray is not installed."""
    with needing("to_xarray needs xarray, which is not installed", "frames"):
        import xarray as xr
    names, provenance = heading.names, heading.provenance
    coordinates: dict[str, Any] = {
        name: (name, _array_of(labels)) for name, labels in zip(names, heading.labels, strict=True)
    }
    arrays = {name: (names, each) for name, each in zip(provenance.product.columns, (estimate, std_err), strict=True)}
    about = {name: text for name, text in (("universe", heading.universe), ("noise", provenance.warning)) if text}
    return xr.Dataset(arrays, coordinates, {"units": heading.unit} | about)


def _array_of(labels: Sequence[object]) -> Any:
    """Labels as an array: of numbers or strings where all are of one type, else of objects."""
    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], str | int | float | bool):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _rows(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> list[list[object]]:
    """The first cells in C order, each with its labels in words, estimate and standard error."""
    shape, count = estimate.shape, min(estimate.size, ROWS)
    indices = np.stack(np.unravel_index(np.arange(count), shape or (1,)), axis=1)[:, : len(shape)]
    numbers = zip(estimate.ravel()[:count].tolist(), std_err.ravel()[:count].tolist(), strict=True)
    of_axes = heading.labels_in_words
    return [
        [*(labels[i] for labels, i in zip(of_axes, index, strict=True)), *map(number_text, pair)]
        for index, pair in zip(indices.tolist(), numbers, strict=True)
    ]


def _title(heading: Heading, estimate: FloatArray) -> str:
    unit = "" if heading.unit == COUNTS else f", in {heading.unit}"
    warning = f"; {heading.provenance.warning}" if heading.provenance.warning else ""
    return f"{heading.title}: {count_text(estimate.size, 'cell')}{unit}{warning}"


def _note(estimate: FloatArray) -> str:
    return rest_note(estimate.size - ROWS, ".to_frame() has all")

"""A table in other forms: tidy, with a row for each cell, and as consoles and notebooks show it."""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.notebooks import ROWS, html_table, rest_note
from residualplanner.ground.words import AMONG, COUNTS, TOTAL, count_text, number_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.release.heading import Heading
from residualplanner.release.product import unlimited
from residualplanner.release.profiles import QUERY, Profile

#: What a column beside the labels is, by the word that its name ends in.
BESIDE = {
    "meaning": "the meaning of the label in the column before it",
    "level": "the level of the classification that the label is of",
    "code": "the code of the label in its level",
    "name": "the name of what the code stands for",
    "parent": "the label of what it is a part of, in the same column of labels; empty for none",
}


def label_columns(attribute: Attribute, kind: Kind) -> dict[str, tuple[object, ...]]:
    """The columns of one axis of a table, by name: labels, and what the kind has beside them, as ``sex_meaning``."""
    name, beside = attribute.name, kind.columns_beside(attribute)
    return {name: kind.labels(attribute)} | {f"{name}_{word}": entries for word, entries in beside.items()}


def label_column_names(axes: Iterable[tuple[Attribute, Iterable[Kind]]]) -> list[str]:
    """The names of all such columns of attributes with kinds; one is there twice if two attributes have it."""
    every = ({name: None for kind in kinds for name in label_columns(attribute, kind)} for attribute, kinds in axes)
    return [name for names in every for name in names]


def number_columns(
    heading: Heading, profile: Profile, estimate: FloatArray, std_err: FloatArray, level: float
) -> dict[str, Any]:
    """The columns of a table beside its labels, by name, (cells,) each."""
    words = {}
    if profile.is_described:
        named = zip(heading.names, heading.labels_in_words, strict=True)
        cells = itertools.product(*([f"{name}={label}" for label in labels] for name, labels in named))
        about = f"{AMONG}{heading.universe}" if heading.universe else ""
        words[QUERY] = [(", ".join(cell) or TOTAL) + about for cell in cells]
    origin = (heading.provenance.origin or unlimited(estimate)).each(np.ravel)
    return words | profile.numbers(estimate.ravel(), std_err.ravel(), level, origin=origin)


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
    return "\n".join(filter(None, [_title(heading, estimate), *body, _note(heading, estimate)]))


def html_of(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> str:
    """A table as a notebook shows it: the same rows."""
    head, rows = [*heading.names, *heading.provenance.product.columns], _rows(heading, estimate, std_err)
    return html_table(_title(heading, estimate), head, rows, note=_note(heading, estimate))


def _rows(heading: Heading, estimate: FloatArray, std_err: FloatArray) -> list[list[object]]:
    cells = itertools.islice(itertools.product(*heading.labels_in_words), ROWS)
    numbers = zip(estimate.ravel()[:ROWS].tolist(), std_err.ravel()[:ROWS].tolist(), strict=True)
    return [[*cell, *map(number_text, pair)] for cell, pair in zip(cells, numbers, strict=True)]


def _title(heading: Heading, estimate: FloatArray) -> str:
    unit = "" if heading.unit == COUNTS else f", in {heading.unit}"
    warning = f"; {heading.provenance.warning}" if heading.provenance.warning else ""
    return f"{heading.title}: {count_text(estimate.size, 'cell')}{unit}{warning}"


def _note(heading: Heading, estimate: FloatArray) -> str:
    statistics = next((kind.statistics for kind in heading.kinds if kind.statistics), "")
    of_these = f"sums that {statistics} are made of, which rp.statistics computes" if statistics else ""
    return "; ".join(filter(None, [rest_note(estimate.size - ROWS, ".to_frame() has all"), of_these]))

"""A saved table with its attributes in another order than that in which it was saved.

Reads: a table as it stands in its file.  Gives: the same rows and columns, as the other order has them.
"""

from typing import TYPE_CHECKING

import numpy as np

from residualplanner.domain import Domain
from residualplanner.reconstruction.profiles import QUERY
from residualplanner.reconstruction.table import cell_words
from residualplanner.workload import WrittenQuery

if TYPE_CHECKING:
    import pandas as pd


def transposed_frame(
    frame: "pd.DataFrame", domain: Domain, saved: WrittenQuery, wanted: WrittenQuery
) -> "pd.DataFrame":
    """The table of one query in the order in which it is written now.

    Args:
        frame: one row for each cell, in C order as it was saved.
        domain: the schema.
        saved: the query as it was saved.
        wanted: the same query, as it is written now.
    """
    if saved == wanted:
        return frame
    shape = [kind.rows(domain.sizes[i]) for i, kind in zip(saved.positions, saved.kinds, strict=True)]
    axes = [saved.positions.index(position) for position in wanted.positions]
    rows = np.arange(len(frame)).reshape(shape).transpose(axes).ravel()
    attributes = [domain.attributes[position] for position in wanted.positions]
    names = [attribute.name for attribute in attributes]
    found = frame.take(rows).reset_index(drop=True)
    found = found[[*names, *found.columns[len(names) :]]]
    if QUERY in found.columns[len(names) :]:
        labels = [kind.labels(attribute) for attribute, kind in zip(attributes, wanted.kinds, strict=True)]
        found[QUERY] = cell_words(names, labels)
    return found

"""The metadata of CSV files in the form of the W3C's "CSV on the Web": one file for all tables of a release.

Reads: a release as it is written, and the names of its files.  Gives: JSON.
Source: W3C Recommendation "Metadata Vocabulary for Tabular Data", 2015.
"""

import json
import string
from collections.abc import Iterable, Iterator
from functools import cache, partial
from urllib.parse import quote

from residualplanner.domain import Attribute
from residualplanner.queries import Kind
from residualplanner.reconstruction.files.file_names import escaped
from residualplanner.reconstruction.files.sidecar import TEXT, Description, label_type
from residualplanner.reconstruction.forms.label_columns import BESIDE, label_columns, name_beside
from residualplanner.workload import WrittenQuery

#: Where programs look for the metadata of the CSV files of a folder.
FILE = "csv-metadata.json"

#: The terms for what is said about an attribute.
_TERMS = {"title": "dc:title", "unit": "schema:unitText", "source": "dc:source", "note": "dc:description"}
_PUBLICATION_TERMS = {
    "title": "dc:title",
    "author": "dc:creator",
    "date": "dc:date",
    "contact": "dcat:contactPoint",
    "source": "dc:source",
    "note": "schema:disambiguatingDescription",
}
_LETTERS = frozenset(string.ascii_letters + string.digits + "_")


def csvw_pieces(
    described: Description, tables: Iterable[tuple[str, str, tuple[tuple[int, Kind], ...]]]
) -> Iterator[bytes]:
    """The content of the metadata file, piece by piece.

    Args:
        described: the release as it is written.
        tables: for each table the name of its file, its query in words, and its attributes with their kinds.
    """
    attributes = described.plan.domain.attributes
    domain, values_of = described.plan.domain, cache(partial(_value_columns, described))
    columns = {
        (position, kind): "".join(f"{column}, " for column in _attribute_columns(attributes[position], kind))
        for position, kind in described.parts
    }
    head = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "dc:title": "Differentially private tables",
        **{_PUBLICATION_TERMS[word]: text for word, text in described.publication.to_json().items()},
        "dc:description": "  ".join(filter(None, (described.noise.guarantee, described.product.sentences))),
        "dc:identifier": f"plan {described.plan_sha256}",
    }
    yield f'{json.dumps(head, indent=1)[:-2]},\n "tables": ['.encode("ascii")
    comma = "\n"
    for file, query, pairs in tables:
        keys = [_variable(attributes[position].name) for position, _ in pairs]
        unit = WrittenQuery(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)).unit(domain)
        schema = f'"columns": [{"".join(columns[pair] for pair in pairs)}{values_of(unit)}]'
        schema += f', "primaryKey": {json.dumps(keys)}' if keys else ""
        names = f'"url": {json.dumps(quote(file))}, "dc:title": {json.dumps(query)}'
        yield f'{comma}  {{{names}, "tableSchema": {{{schema}}}}}'.encode("ascii")
        comma = ",\n"
    yield b"\n ]\n}\n"


def _value_columns(described: Description, unit: str) -> str:
    """The columns beside the attributes' in tables of this unit."""
    return ", ".join(
        json.dumps(
            {
                "name": _variable(column["name"]),
                "titles": column["name"],
                "datatype": column["datatype"],
                "dc:description": column["meaning"],
                **({"schema:unitText": column["unit"]} if column["unit"] else {}),
            }
        )
        for column in described.columns(unit)
    )


def _attribute_columns(attribute: Attribute, kind: Kind) -> Iterator[str]:
    """The columns of labels of an attribute; what is said about it belongs to the first."""
    about = {_TERMS[word]: text for word, text in attribute.about.to_json().items()}
    beside = {name_beside(attribute, word): sentence for word, sentence in BESIDE.items()}
    for name, labels in label_columns(attribute, kind).items():
        datatype = label_type(labels)
        column: dict[str, object] = {"name": _variable(name), "titles": name, "datatype": datatype, "required": True}
        if datatype == TEXT and "" in labels:
            column["null"] = []  # an empty string is a label, not a missing value
        yield json.dumps(column | (about if name == attribute.name else {"dc:description": beside[name]}))


def _variable(name: str) -> str:
    """A column's name as the vocabulary allows it: all but letters, digits and an inner ``_`` is percent-encoded.

    Example:
        >>> _variable("income>50K"), _variable("_age.1"), _variable("ci_low")
        ('income%3E50K', '%5Fage%2E1', 'ci_low')
    """
    return escaped(name, _LETTERS, "%")

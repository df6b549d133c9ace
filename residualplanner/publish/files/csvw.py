"""The metadata of CSV files in the form of the W3C's "CSV on the Web": one file for all tables of a folder.

Source: W3C Recommendation "Metadata Vocabulary for Tabular Data", 2015.
"""

import json
import string
from collections.abc import Iterable, Iterator
from functools import cache, partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files.file_names import escaped, written_queries
from residualplanner.publish.files.sidecar import NUMBER, TEXT, Description, label_type
from residualplanner.publish.files.statistics import FOLDER, datatype_of, statistic_file, statistic_forms
from residualplanner.release.statistics import StatisticForm
from residualplanner.release.tidy_form import BESIDE, label_columns, name_beside

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


def csvw_files(described: Description, index: Any) -> dict[str, Iterator[bytes]]:
    """The metadata of CSV files by its place beside these: of tables, and of statistics where there are such.

    Args:
        described: the release as it is written.
        index: of its tables.
    """
    files = {f"tables/{FILE}": _of_tables(described, _tables_of(index, described.plan))}
    statistics = statistic_forms(described.plan.workload, described.profile)
    found = [(statistic_file(described, query), query, form) for query, form in statistics]
    return files | ({f"{FOLDER}/{FILE}": _of_statistics(described, found)} if found else {})


def _tables_of(index: Any, plan: Plan) -> Iterator[tuple[str, str, tuple[tuple[int, Kind], ...]]]:
    """For each table the name of its file, its query in words, and its attributes with their kinds."""
    files, queries = (index[name].to_pylist() for name in ("file", "query"))
    for file, query, written in zip(files, queries, written_queries(plan.workload), strict=True):
        yield file.removeprefix("tables/"), query, tuple(zip(*written.table_axes, strict=True))


def _of_tables(
    described: Description, tables: Iterable[tuple[str, str, tuple[tuple[int, Kind], ...]]]
) -> Iterator[bytes]:
    """The content of the metadata file of tables, piece by piece.

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

    def entries() -> Iterator[str]:
        for file, query, pairs in tables:
            unit = WrittenQuery(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)).unit(domain)
            text = "".join(columns[pair] for pair in pairs) + values_of(unit)
            yield _entry(file, query, text, [attributes[position].name for position, _ in pairs])

    return _pieces(described, entries())


def _of_statistics(
    described: Description, statistics: Iterable[tuple[str, WrittenQuery, StatisticForm]]
) -> Iterator[bytes]:
    """The content of the metadata file of statistics, piece by piece.

    Args:
        described: the release as it is written.
        statistics: for each its file within the release, its query, and what its table looks like.
    """
    domain = described.plan.domain

    def entries() -> Iterator[str]:
        for file, query, form in statistics:
            texts = [text for group in form.groups for text in _attribute_columns(*group)]
            texts += [json.dumps(_column(name, NUMBER) | {"required": True}) for name in form.kind.more_axes]
            numbers = zip(form.columns, form.described(domain.unit, described.level), strict=True)
            texts += [json.dumps(_value_column(datatype_of(column), *words)) for column, words in numbers]
            keys = [*(attribute.name for attribute, _ in form.groups), *form.kind.more_axes]
            yield _entry(PurePosixPath(file).name, query.words(domain), ", ".join(texts), keys)

    return _pieces(described, entries())


def _pieces(described: Description, entries: Iterable[str]) -> Iterator[bytes]:
    """The content of a metadata file, from the entries of its tables."""
    head = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "dc:title": "Differentially private tables",
        **{_PUBLICATION_TERMS[word]: text for word, text in described.publication.to_json().items()},
        "dc:description": "  ".join(filter(None, (described.noise.guarantee, described.product.sentences))),
        "dc:identifier": f"plan {described.plan_sha256}",
    }
    yield f'{json.dumps(head, indent=1)[:-2]},\n "tables": ['.encode("ascii")
    comma = "\n"
    for entry in entries:
        yield f"{comma}  {entry}".encode("ascii")
        comma = ",\n"
    yield b"\n ]\n}\n"


def _entry(file: str, query: str, columns: str, keys: Iterable[str]) -> str:
    """The entry of a file: its name, its query in words, its columns as JSON, and those that identify a row."""
    key = [_variable(name) for name in keys]
    schema = f'"columns": [{columns}]' + (f', "primaryKey": {json.dumps(key)}' if key else "")
    return f'{{"url": {json.dumps(quote(file))}, "dc:title": {json.dumps(query)}, "tableSchema": {{{schema}}}}}'


def _value_columns(described: Description, unit: str) -> str:
    """The columns beside the attributes' in tables of this unit."""
    return ", ".join(
        json.dumps(_value_column(column["datatype"], column["name"], column["unit"], column["meaning"]))
        for column in described.columns(unit)
    )


def _value_column(datatype: str, name: str, unit: str, meaning: str) -> dict[str, object]:
    """A column of numbers."""
    words = {"dc:description": meaning, **({"schema:unitText": unit} if unit else {})}
    return _column(name, datatype) | words


def _column(name: str, datatype: str) -> dict[str, object]:
    return {"name": _variable(name), "titles": name, "datatype": datatype}


def _attribute_columns(attribute: Attribute, kind: Kind) -> Iterator[str]:
    """The columns of labels of an attribute; what is said about it belongs to the first."""
    about = {_TERMS[word]: text for word, text in attribute.about.to_json().items()}
    beside = {name_beside(attribute, word): sentence for word, sentence in BESIDE.items()}
    for name, labels in label_columns(attribute, kind).items():
        datatype = label_type(labels)
        column = _column(name, datatype) | {"required": True}
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

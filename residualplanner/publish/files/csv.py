"""Tables as CSV, and their metadata in the form of the W3C's "CSV on the Web": one file for all tables of a folder.

Source: W3C Recommendation "Metadata Vocabulary for Tabular Data", 2015.
"""

import json
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from residualplanner.ground.stores import AnyPath
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.publish.files.columns import arrow_type, not_the_table
from residualplanner.publish.files.file_names import escaped, written_queries
from residualplanner.publish.files.sidecar import NUMBER, TEXT, Description, label_type
from residualplanner.publish.files.statistics import FOLDER, datatype_of, statistic_file, statistic_forms
from residualplanner.release.tidy_form import BESIDE, label_columns, name_beside

#: How many bytes are read at a time; a row must fit.
_BLOCK = 2**24
#: Where programs look for the metadata of the CSV files of a folder.
_FILE = "csv-metadata.json"
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


def write(table: Any) -> Any:
    """A PyArrow table in UTF-8: strings in quotes, numbers in the fewest digits that tell them from all others."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    plain = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    stream = pa.BufferOutputStream()
    pa_csv.write_csv(table.cast(pa.schema(plain)), stream)
    return stream.getvalue()


def write_frames(frames: Mapping[str, Any]) -> dict[str, Any]:
    """Data frames, by the names of their files, as CSV."""
    import pyarrow as pa

    return {name: write(pa.Table.from_pandas(frame, preserve_index=False)) for name, frame in frames.items()}


def read(content: bytes, path: AnyPath, types: Mapping[str, str]) -> Any:
    """A file as a PyArrow table; columns without a type have that of their values."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    declared = {name: arrow_type(word) for name, word in types.items()}
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(content),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            read_options=pa_csv.ReadOptions(block_size=_BLOCK),
            convert_options=pa_csv.ConvertOptions(column_types=declared, strings_can_be_null=False),
        )
        _ = table.column_names  # which are decoded only here
    except (pa.ArrowException, UnicodeDecodeError):
        raise not_the_table(path) from None
    return table


def metadata_files(described: Description, index: Any) -> dict[str, Iterator[bytes]]:
    """The metadata of CSV files by their place beside these: of the tables in an index, and of statistics, if any."""
    found = {f"tables/{_FILE}": _metadata(described, _tables(described, index))}
    statistics = list(_statistics(described))
    return found | ({f"{FOLDER}/{_FILE}": _metadata(described, statistics)} if statistics else {})


def _tables(described: Description, index: Any) -> Iterator[str]:
    """The entries of tables."""
    domain = described.plan.domain
    # Tables are many, and have their attributes and units in common: of these each is written out once.
    columns = {
        (position, kind): "".join(f"{column}, " for column in _label_columns(domain.attributes[position], kind))
        for position, kind in described.parts
    }

    @cache
    def values_of(unit: str) -> str:
        every = [(column["datatype"], column["name"], column["unit"], column["meaning"])
                 for column in described.columns(unit)]  # fmt: skip
        return ", ".join(json.dumps(_value_column(*column)) for column in every)

    files, queries = (index[name].to_pylist() for name in ("file", "query"))
    for file, query, written in zip(files, queries, written_queries(described.plan.workload), strict=True):
        axes = written.table_axes
        text = "".join(columns[pair] for pair in zip(*axes, strict=True)) + values_of(axes.unit(domain))
        keys = [domain.names[position] for position in axes.positions]
        yield _entry(file.removeprefix("tables/"), query, text, keys)


def _statistics(described: Description) -> Iterator[str]:
    """The entries of statistics."""
    domain = described.plan.domain
    for query, form in statistic_forms(described.plan.workload, described.profile):
        texts = [text for group in form.groups for text in _label_columns(*group)]
        texts += [json.dumps(_column(name, NUMBER) | {"required": True}) for name in form.kind.more_axes]
        numbers = zip(form.columns, form.described(domain.unit, described.level), strict=True)
        texts += [json.dumps(_value_column(datatype_of(column), *words)) for column, words in numbers]
        keys = [*(attribute.name for attribute, _ in form.groups), *form.kind.more_axes]
        file = PurePosixPath(statistic_file(described, query)).name
        yield _entry(file, query.words(domain), ", ".join(texts), keys)


def _metadata(described: Description, entries: Iterable[str]) -> Iterator[bytes]:
    """The content of a metadata file, piece by piece, from the entries of its tables."""
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


def _value_column(datatype: str, name: str, unit: str, meaning: str) -> dict[str, object]:
    words = {"dc:description": meaning, **({"schema:unitText": unit} if unit else {})}
    return _column(name, datatype) | words


def _column(name: str, datatype: str) -> dict[str, object]:
    return {"name": _variable(name), "titles": name, "datatype": datatype}


def _label_columns(attribute: Attribute, kind: Kind) -> Iterator[str]:
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
    """A column's name as the vocabulary allows it: all but letters, digits and an inner ``_`` is percent-encoded."""
    return escaped(name, _LETTERS, "%")

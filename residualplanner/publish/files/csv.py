"""Tables as CSV, and their metadata in the form of the W3C's "CSV on the Web": one file for all tables of a folder.

Source: W3C Recommendation "Metadata Vocabulary for Tabular Data", 2015.
"""

import json
import string
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from residualplanner.ground.stores import AnyPath
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.publish.files.columns import arrow_type, not_the_table
from residualplanner.publish.files.file_names import escaped, written_queries
from residualplanner.publish.files.sidecar import STATISTICS, TEXT, Description, FileForm, label_type
from residualplanner.release.tidy_form import BESIDE, label_columns

#: How many bytes are read at a time; a row must fit.
_BLOCK = 2**24
#: Where programs look for the metadata of the CSV files of a folder.
_FILE = "csv-metadata.json"
#: The terms for what is said about an attribute.
_TERMS = {"title": "dc:title", "unit": "schema:unitText", "source": "dc:source", "note": "dc:description"}
_PUBLICATION_TERMS = {"title": "dc:title", "author": "dc:creator", "date": "dc:date", "contact": "dcat:contactPoint"}
_PUBLICATION_TERMS |= {"source": "dc:source", "note": "schema:disambiguatingDescription"}
#: What stays in names of columns in that vocabulary; of all else the bytes are percent-encoded.
_LETTERS = frozenset(string.ascii_letters + string.digits + "_")


def write(table: Any) -> Any:
    """A table in UTF-8: strings in quotes, numbers in the fewest digits that tell them from all others.

    It is PyArrow's, or a data frame, whose index is left out.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    if not isinstance(table, pa.Table):
        table = pa.Table.from_pandas(table, preserve_index=False)
    is_coded = pa.types.is_dictionary
    plain = [(each.name, each.type.value_type if is_coded(each.type) else each.type) for each in table.schema]
    stream = pa.BufferOutputStream()
    pa_csv.write_csv(table.cast(pa.schema(plain)), stream)
    return stream.getvalue()


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


def metadata_files(described: Description) -> dict[str, bytes]:
    """The metadata of CSV files by their place beside these: of tables, and of statistics, if any."""
    tables = map(described.table_form, written_queries(described.plan.workload))
    found = {f"tables/{_FILE}": _metadata(described, tables)}
    statistics = list(described.statistic_forms())
    return found | ({f"{STATISTICS}/{_FILE}": _metadata(described, statistics)} if statistics else {})


def _metadata(described: Description, forms: Iterable[FileForm]) -> bytes:
    domain = described.plan.domain
    head = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "dc:title": "Differentially private tables",
        **{_PUBLICATION_TERMS[word]: text for word, text in described.publication.to_json().items()},
        "dc:description": "  ".join(filter(None, (described.noise.guarantee, described.product.sentences))),
        "dc:identifier": f"plan {described.plan_sha256}",
    }

    @cache  # tables are many, and have their attributes in common
    def label_columns_of(key: tuple[int, Kind]) -> list[dict[str, object]]:
        attribute = domain.attributes[key[0]]
        return _label_columns(label_columns(attribute, key[1]), attribute)

    def entry(form: FileForm) -> str:
        columns: list[dict[str, object]] = []
        for key, labels in zip(form.keys, form.axes, strict=True):
            columns += label_columns_of(key) if key else _label_columns(labels, form.attribute_of_values)
        for each in form.columns:
            words = {"dc:description": each.meaning, **({"schema:unitText": each.unit} if each.unit else {})}
            columns.append(_column(each.name, each.datatype) | words)
        keys = [escaped(next(iter(labels)), _LETTERS, "%") for labels in form.axes]
        schema = {"columns": columns, **({"primaryKey": keys} if keys else {})}
        place = {"url": quote(PurePosixPath(form.file).name), "dc:title": form.query.words(domain)}
        return f"  {json.dumps(place | {'tableSchema': schema})}"

    tables = ",\n".join(map(entry, forms))
    return f'{json.dumps(head, indent=1)[:-2]},\n "tables": [\n{tables}\n ]\n}}\n'.encode("ascii")


def _label_columns(columns: Mapping[str, Sequence[object]], attribute: Attribute | None) -> list[dict[str, object]]:
    """The columns of the labels of an axis, of an attribute's values or others, and of what stands beside them."""
    first, found = next(iter(columns)), []
    said: dict[str, dict[str, object]]
    said = {f"{first}_{word}": {"dc:description": sentence} for word, sentence in BESIDE.items()}
    about = {} if attribute is None else attribute.about.to_json()
    said[first] = {_TERMS[word]: text for word, text in about.items()}
    for name, labels in columns.items():
        datatype = label_type(labels)
        column = _column(name, datatype) | {"required": True}
        if datatype == TEXT and "" in labels:
            column["null"] = []  # an empty string is a label, not a missing value
        found.append(column | said[name])
    return found


def _column(name: str, datatype: str) -> dict[str, object]:
    return {"name": escaped(name, _LETTERS, "%"), "titles": name, "datatype": datatype}

"""The tables of a release as SDMX: a file of SDMX-CSV 2.0 for each, and the SDMX-JSON 2.0 message that defines them.

An axis is a dimension, and its labels are codes; the estimate is the observation, what stands beside it its attributes.
Source: SDMX 3.0, the field guides to SDMX-CSV 2.0 data messages and SDMX-JSON 2.0 structure messages.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, count
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

import numpy as np

from residualplanner.ground.atomic import PathLike, write_folder_atomically
from residualplanner.ground.checks import require_path, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import TOTAL
from residualplanner.method.domain.labels import label_text
from residualplanner.publish.files import csv
from residualplanner.publish.files.columns import cell_indices
from residualplanner.publish.files.file_names import written_queries
from residualplanner.publish.files.reading import InFiles
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, TEXT, TRUTH, Description, FileColumn, FileForm
from residualplanner.publish.saving import load_tables, write_new
from residualplanner.release.profiles import QUERY
from residualplanner.release.release import Release

_SCHEMA = "sdmx-twg/sdmx-json/master/structure-message/tools/schemas/2.0.0/sdmx-json-structure-schema.json"
_AGENCY, _VERSION = r"[A-Za-z][\w-]*(\.[A-Za-z][\w-]*)*", r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){1,2}"
_OBSERVATION, _UNIT = "OBS_VALUE", "UNIT_MEASURE"
#: The columns of SDMX-CSV, which no other may be called like.
_OWN = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY", _OBSERVATION, _UNIT)
_TYPES = {TEXT: "String", INTEGER: "Long", TRUTH: "Boolean", NUMBER: "Double"}
_SIGNS = str.maketrans({"≤": " LE ", "<": " LT ", "≥": " GE ", ">": " GT "})
#: What the table of no attributes is called, and the dimension of those without an axis, as a key has one at least.
_RECORDS = "records"

Json = dict[str, Any]


def write_sdmx(
    source: Release | PathLike, folder: PathLike, *, agency: str = "UNSPECIFIED", version: str = "1.0.0"
) -> None:
    """Write the tables of a release, and its statistics, as SDMX to a new folder, whole or not at all.

    Left out are comparisons of tables, ``errors.csv`` and the report.

    The folder holds ``structure.json``, an SDMX-JSON 2.0 message with codelists, concepts, and for each table a data
    structure definition and a dataflow, whose annotations say what the table is; and the tables in SDMX-CSV 2.0.

    The code of a label is the label, where that is an SDMX identifier; ``_T`` for "(total)"; else what is left of it in
    ASCII, with a hash where two labels would have one code.  Its name is the label's meaning, or has both.

    Args:
        source: a release, or the folder of one that has a file for each table, or a workbook: its columns, level,
            quality, publication and errors are written.  A release in no folder is written as it is saved by default.
        folder: one that does not exist, or is empty.
        agency: the SDMX identifier of who maintains the definitions, such as "ESTAT" or "ESTAT.F2".
        version: of all definitions; two releases under one agency need different ones.

    Raises:
        ArgumentError: ``source`` or ``folder`` is no path, or the source is in parts.
        WorkloadError: ``agency`` or ``version`` has another form, or an attribute has the name of a column.
        FileFormatError: the source is not the folder of a release, or was altered.
        OSError: the folder cannot be written, or is not empty (FileExistsError).

    Guarantees: this is post-processing.  Equal releases give equal bytes, but for the time in ``structure.json``.

    Example:
        >>> from pathlib import Path
        >>> from residualplanner import Domain, marginals, measure, reconstruct, select, zcdp
        >>> plan = select(marginals(Domain({"sex": ["F", "M"]}), order=1), budget=zcdp("0.5"))
        >>> release = reconstruct(measure(plan, np.array([[0], [1], [1]])))
        >>> with TemporaryDirectory() as home:
        ...     write_sdmx(release, f"{home}/sdmx", agency="STATS")
        ...     print(Path(home, "sdmx/tables/sex.csv").read_text().splitlines()[1][:40])
        "dataflow","STATS:SEX(1.0.0)","R","F",...
    """
    require_path("write_sdmx", folder, 'write_sdmx(release, "sdmx", agency="STATS")')
    for given, pattern, example in ((agency, _AGENCY, 'agency="ESTAT"'), (version, _VERSION, 'version="1.0.0"')):
        if not isinstance(given, str) or not re.fullmatch(pattern, given, re.ASCII):
            raise WorkloadError(f"write_sdmx needs identifiers of SDMX, as in {example}; got {value_text(given)}")
    release = source if isinstance(source, Release) else load_tables(source)
    with write_folder_atomically(folder) as home, TemporaryDirectory(dir=home) as scratch:
        if not isinstance(release.numbers, InFiles):
            release.save(f"{scratch}/release", "csv")
            release = load_tables(f"{scratch}/release")
        saved = release.numbers
        assert isinstance(saved, InFiles)
        structure = _Structure(replace(saved.described, file_format="csv"), agency, version)
        errors, flows = saved.published_errors, list[Json]()
        for row, (query, forms) in enumerate(zip(release, structure.forms, strict=True)):
            known = {} if errors is None else dict(errors.iloc[row, 3:])  # after query, kinds and cells
            for form in forms:
                columns = saved.frame(query) if form.statistic is None else saved.statistic(query)
                (home / form.file).parent.mkdir(exist_ok=True)
                digest = write_new(home / form.file, csv.write(structure.rows(form, columns)))
                flows.append(structure.flow(form, {**known, "file": form.file, "sha256": digest}))
        write_new(home / "structure.json", structure.message(flows))


def _identifiers(texts: Iterable[str], reserved: Collection[str] = (), *, of: Callable[[str], str]) -> dict[str, str]:
    """A different identifier for each text: what ``of`` makes of it, with a hash where another text has that."""
    made = {text: of(text) for text in texts}
    uses = Counter([*made.values(), *reserved])
    own = {text for text, found in made.items() if found not in reserved and (found == text or uses[found] == 1)}
    return {text: found if text in own else f"{found}_{_hash(text)}" for text, found in made.items()}


def _code_of(text: str) -> str:
    return "_T" if text == TOTAL else text if re.fullmatch(r"[\w@$-]+", text, re.ASCII) else _plain(text)


def _name_of(text: str) -> str:
    """In capitals, a letter in front, which codes need not have, without hyphens; bytes in files' names are letters."""
    return re.sub("^(?![A-Z])", "X_", _plain(unquote(text.replace("~", "%"))).upper().replace("-", "_"))


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.translate(_SIGNS))
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return re.sub(r"[^\w-]+", "_", kept, flags=re.ASCII).strip("_") or _hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _codes(columns: Mapping[str, Sequence[object]]) -> list[Json]:
    """The codes of the labels of an axis, given with what stands beside them."""
    (name, labels), *others = columns.items()
    codes, made = _identifiers(map(label_text, labels), of=_code_of), []
    beside = {word.removeprefix(f"{name}_"): list(map(str, entries)) for word, entries in others}
    meanings = beside.get("meaning", beside.get("name", list(codes)))
    for row, ((text, code), meaning) in enumerate(zip(codes.items(), meanings, strict=True)):
        found = {"id": code, "name": (meaning if text in (meaning, code) else f"{text} ({meaning})") or code}
        if "parent" in beside and beside["parent"][row] in codes:
            found["parent"] = codes[beside["parent"][row]]
        made.append(found | _notes({word: beside[word][row] for word in ("level", "code") if word in beside}))
    return made


@dataclass(frozen=True, eq=False)
class _Structure:
    """What defines the files: each codelist and each concept once, though many tables have it."""

    described: Description
    agency: str
    version: str
    codelists: dict[str, Json] = field(default_factory=dict)
    concepts: dict[str, Json] = field(default_factory=dict)

    @cached_property
    def forms(self) -> list[list[FileForm]]:
        """Of each query the form of its table, and that of the statistic that it is for."""
        described, queries = self.described, written_queries(self.described.plan.workload)
        return [list(filter(None, (described.table_form(query), described.statistic_form(query)))) for query in queries]

    @cached_property
    def names(self) -> dict[str, str]:
        """The identifiers of files, of columns, and of attributes with kinds of query."""
        forms = list(chain.from_iterable(self.forms))
        axes = (next(iter(axis)) for form in forms for axis in form.axes)
        columns = (column.name for form in forms for column in form.columns)
        texts = chain([_RECORDS], map(_stem, forms), axes, columns, self.described.parts.values())
        return _identifiers(texts, _OWN, of=_name_of)

    def rows(self, form: FileForm, columns: Any) -> Any:
        import pyarrow as pa

        def repeated(text: str) -> Any:
            return pa.DictionaryArray.from_arrays(np.zeros(form.rows, dtype=np.int32), pa.array([text]))

        flow = f"{self.agency}:{self.names[_stem(form)]}({self.version})"
        found = {"STRUCTURE": repeated("dataflow"), "STRUCTURE_ID": repeated(flow), "ACTION": repeated("R")}
        for axis, (name, _, codelist) in enumerate(self._axes(form)):
            codes = pa.array([code["id"] for code in codelist["codes"]])
            found[name] = pa.DictionaryArray.from_arrays(cell_indices(form.shape or (1,), axis), codes)
        numbers = self._numbers(form)
        for name, column in numbers.items():
            found[name] = repeated(numbers[_OBSERVATION].unit) if name == _UNIT else columns[column.name]
        return pa.table(found)

    def flow(self, form: FileForm, known: Json) -> Json:
        """The dataflow of a file, with what is said of it and known."""
        flow, about = self.names[_stem(form)], dict(self.described.about_query("", "", form.query))
        structure = self._urn("datastructure.DataStructure", f"DSD_{flow}")
        return self._artefact(flow, self._title(form), structure=structure) | _notes(about | known)

    def message(self, flows: Sequence[Json]) -> bytes:
        said = self.described.publication
        meta = {
            "schema": f"https://raw.githubusercontent.com/{_SCHEMA}",
            "id": f"PLAN-{self.described.plan_sha256}",
            "prepared": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "name": said.title or "Differentially private tables",
            "sender": {"id": self.agency.partition(".")[0], "name": said.author or self.agency},
        }
        data: Json = {"dataflows": flows, "dataStructures": list(map(self._structure, chain.from_iterable(self.forms)))}
        data["codelists"] = list(self.codelists.values())
        data["conceptSchemes"] = [self._artefact("CONCEPTS", "Concepts", concepts=list(self.concepts.values()))]
        return json.dumps({"meta": meta, "data": data}, indent=1).encode("ascii")

    def _structure(self, form: FileForm) -> Json:
        dimensions = [
            self._component(name, about, {"enumeration": self._urn("codelist.Codelist", codelist["id"])})
            for name, about, codelist in self._axes(form)
        ]
        measure, *attributes = (
            self._component(name, {"name": each.name, "description": each.meaning} | _notes({"unit": each.unit}), kind)
            | {"usage": "optional" if each.is_optional else "mandatory"}
            for name, each in self._numbers(form).items()
            for kind in ({"format": {"dataType": _TYPES[each.datatype]}},)
        )
        for each in attributes:
            each["attributeRelationship"] = {"dataflow" if each["id"] == _UNIT else "observation": {}}
        parts = {
            "dimensionList": {"id": "DimensionDescriptor", "dimensions": dimensions},
            "measureList": {"id": "MeasureDescriptor", "measures": [measure]},
            "attributeList": {"id": "AttributeDescriptor", "attributes": attributes},
        }
        return self._artefact(f"DSD_{self.names[_stem(form)]}", self._title(form), dataStructureComponents=parts)

    def _component(self, name: str, about: Json, representation: Json) -> Json:
        """A component, whose concept it shares with all of the same name and explanation."""
        key = json.dumps([name, about])
        if key not in self.concepts:
            used = {concept["id"] for concept in self.concepts.values()}
            free = chain([name], (f"{name}_{number}" for number in count(2)))
            self.concepts[key] = {"id": next(each for each in free if each not in used), **about}
        concept = f"{self._urn('conceptscheme.Concept', 'CONCEPTS')}.{self.concepts[key]['id']}"
        return {"id": name, "conceptIdentity": concept, "localRepresentation": representation}

    def _axes(self, form: FileForm) -> list[tuple[str, Json, Json]]:
        """Of each dimension of a file its identifier, what is said of it, and its codelist."""
        found, attributes = [], self.described.plan.domain.attributes
        for key, columns in zip(form.keys or (None,), form.axes or ({_RECORDS: (TOTAL,)},), strict=True):
            attribute = attributes[key[0]] if key else form.attribute_of_values
            label, labels = next(iter(columns.items()))
            name, words = (label, {}) if attribute is None else (attribute.name, attribute.about.to_json())
            about = {"name": words.pop("title", name)} | _notes(words)
            of = self.names[self.described.parts[key]] if key else f"{self.names[name]}_{_hash(repr(labels))}"
            if of not in self.codelists:
                self.codelists[of] = self._artefact(f"CL_{of}", about["name"], codes=_codes(columns))
            found.append((self.names[name], about, self.codelists[of]))
        return found

    def _numbers(self, form: FileForm) -> dict[str, FileColumn]:
        """The other columns by their identifiers: first the observation, then its unit if it has one."""
        observed = next(column for column in form.columns if column.name != QUERY)
        unit = FileColumn("unit", TEXT, "", "what the observation is measured in", is_optional=False)
        others = {self.names[column.name]: column for column in form.columns if column is not observed}
        return {_OBSERVATION: observed} | ({_UNIT: unit} if observed.unit else {}) | others

    def _title(self, form: FileForm) -> str:
        title = self.described.title_of(form.query) or form.query.words(self.described.plan.domain)
        return title if form.statistic is None else f"{form.statistic.title}: {title}"

    def _artefact(self, name: str, title: str, **more: Any) -> Json:
        return {"id": name, "agencyID": self.agency, "version": self.version, "name": title, **more}

    def _urn(self, kind: str, name: str) -> str:
        return f"urn:sdmx:org.sdmx.infomodel.{kind}={self.agency}:{name}({self.version})"


def _stem(form: FileForm) -> str:
    return form.file.removeprefix("tables/").removesuffix(".csv") if form.query.positions else _RECORDS


def _notes(about: Mapping[str, object]) -> Json:
    notes = [{"type": word, "text": str(text)} for word, text in about.items() if text != ""]
    return {"annotations": notes} if notes else {}

"""The files beside a spec that say which values an attribute has, in which groups, and where these are on a map."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.publish.maps import Boundaries
from residualplanner.shell.cli.spec.attributes import AttributeTable, CrosswalkTable
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.kinds import KindTable


@dataclass(frozen=True, slots=True)
class SpecHierarchies:
    """The hierarchies that a spec has for its attributes.

    Attributes:
        folder: of the spec, where files are looked for.
        by_name: the hierarchy of each attribute that has one.
    """

    folder: Path = Path()
    by_name: Mapping[str, Hierarchy] = field(default_factory=dict)

    def kind(self, table: KindTable, name: str) -> Hierarchy:
        """The hierarchy that a kind of query on an attribute describes: with its own levels, or the attribute's."""
        if table.levels is not None:
            return Hierarchy(table.levels, total=table.total, leaves=table.leaves)
        if name not in self.by_name:
            above = "state" if name != "state" else "region"
            raise WorkloadError(
                "give the levels of the hierarchy, from coarse to fine: levels = [...]; or in [domain] the file that "
                f'has them, as {name} = {{ hierarchy = "{name}.csv", levels = ["{above}", "{name}"] }}'
            )
        found = self.by_name[name]
        if table.crosswalk is not None:
            found = _crossed(found, table.crosswalk, self.folder)
        assert found.classification is not None  # it is from a file
        return Hierarchy.of_classification(found.classification, total=table.total, leaves=table.leaves)


#: Of a spec without such files.
NO_FILES = SpecHierarchies()


def _crossed(hierarchy: Hierarchy, table: CrosswalkTable, folder: Path) -> Hierarchy:
    given = dict(table) | {"code_lengths": _lengths(table.code_lengths)}
    return hierarchy.crosswalk(file_beside(folder, given.pop("file")), **given)


def hierarchies_of_spec(spec: SpecFile) -> SpecHierarchies:
    """The hierarchies in the files that a spec names in its [domain]."""
    tables = {name: table for name, table in spec.domain.items() if table is not None and table.hierarchy is not None}
    return SpecHierarchies(spec.folder, {name: _hierarchy(spec.folder, name, table) for name, table in tables.items()})


def maps_of_spec(spec: SpecFile) -> dict[str, Boundaries]:
    """The boundaries in the GeoJSON files that a spec names in its [output]."""
    found = {}
    for name, table in spec.output.maps.items():
        with located(f"[output.maps] {name}"):
            found[name] = Boundaries.from_geojson(file_beside(spec.folder, table.geojson), table.code)
    return found


def file_beside(folder: Path, name: str) -> Path:
    """The path of a file that a spec in a folder names; WorkloadError where there is none."""
    path = folder / name
    if not path.is_file():
        raise WorkloadError(f"there is no file {path}; it is looked for beside the spec")
    return path


def _hierarchy(folder: Path, name: str, table: AttributeTable) -> Hierarchy:
    assert table.hierarchy is not None
    levels = table.levels or []
    if isinstance(levels, dict):
        levels = {level: each if isinstance(each, str) else tuple(each) for level, each in levels.items()}
    with located(f"[domain] {name}"):
        return Hierarchy.from_file(
            file_beside(folder, table.hierarchy),
            levels,
            code_lengths=_lengths(table.code_lengths),
            encoding=table.encoding,
            separator=table.separator,
        )


def _lengths(declared: Mapping[str, Any]) -> dict[str, int | None]:
    """The lengths of codes as `Hierarchy.from_file` has them: None where they differ."""
    return {name: None if length == "any" else length for name, length in declared.items()}


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say in errors of the block where in the spec the entry stands that it is about."""
    try:
        yield
    except (WorkloadError, FileFormatError) as error:
        raise type(error)(f"{where}: {error}") from None

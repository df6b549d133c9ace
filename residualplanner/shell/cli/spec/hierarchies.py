"""The hierarchies of a spec: the files beside it that say which values an attribute has, and in which groups.

Reads: SpecFile, public CSV files.  Gives: hierarchies by attribute.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from residualplanner.ground.errors import FileFormatError, WorkloadError
from residualplanner.more.classifications.hierarchy import Hierarchy
from residualplanner.publish.maps import Boundaries
from residualplanner.shell.cli.spec.attributes import AttributeTable
from residualplanner.shell.cli.spec.classifications import CrosswalkTable, lengths_of
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.kinds import KindTable
from residualplanner.shell.cli.spec.output import MapTable

T = TypeVar("T")


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
        """The hierarchy that a kind of query on an attribute describes.

        Raises:
            WorkloadError: it has no levels, and neither has the attribute; or its levels are invalid.
            FileFormatError: the file of its crosswalk is not what it should be.
        """
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
            found = self._crossed(found, table.crosswalk)
        assert found.classification is not None  # it is from a file
        return Hierarchy.of_classification(found.classification, total=table.total, leaves=table.leaves)

    def _crossed(self, hierarchy: Hierarchy, table: CrosswalkTable) -> Hierarchy:
        return hierarchy.crosswalk(
            file_beside(self.folder, table.file),
            leaf=table.leaf,
            group=table.group,
            name=table.name,
            within=table.within,
            ungrouped=table.ungrouped,
            code_lengths=lengths_of(table.code_lengths),
            encoding=table.encoding,
            separator=table.separator,
        )


#: Of a spec without such files.
NO_FILES = SpecHierarchies()


def hierarchies_of_spec(spec: SpecFile) -> SpecHierarchies:
    """The hierarchies in the files that a spec names in its [domain].

    Raises:
        WorkloadError: a file is not there, or its levels are invalid.
        FileFormatError: a file is not CSV of the declared encoding.
        OSError: a file cannot be opened.
    """
    tables = {name: table for name, table in spec.domain.items() if table is not None and table.hierarchy is not None}
    return SpecHierarchies(spec.folder, {name: _hierarchy(spec.folder, name, table) for name, table in tables.items()})


def maps_of_spec(spec: SpecFile) -> dict[str, Boundaries]:
    """The boundaries in the GeoJSON files that a spec names in its [output].

    Raises:
        WorkloadError: a file is not there.
        FileFormatError: a file is not such GeoJSON.
    """
    return {name: _boundaries(spec.folder, name, table) for name, table in spec.output.maps.items()}


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
    return _naming(
        f"[domain] {name}",
        lambda: Hierarchy.from_file(
            file_beside(folder, table.hierarchy or ""),
            levels,
            code_lengths=lengths_of(table.code_lengths),
            encoding=table.encoding,
            separator=table.separator,
        ),
    )


def _boundaries(folder: Path, name: str, table: MapTable) -> Boundaries:
    return _naming(
        f"[output.maps] {name}", lambda: Boundaries.from_geojson(file_beside(folder, table.geojson), table.code)
    )


def _naming(where: str, read: Callable[[], T]) -> T:
    """What is read, with where in the spec in errors."""
    try:
        return read()
    except WorkloadError as error:
        raise WorkloadError(f"{where}: {error}") from None
    except FileFormatError as error:
        raise FileFormatError(f"{where}: {error}") from None

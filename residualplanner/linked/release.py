"""The tables of all units: a release for each table, one folder for all of them, and one sentence to sign.

Anyone may have made a folder: what it says of privacy is computed again from what was measured.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from residualplanner.gate.measurement.noise_record import NoiseRecord, cost_text, warning_of
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.ground.atomic import PathLike, write_folder_atomically
from residualplanner.ground.checks import limited_bytes, require_path, require_type
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import parse_json
from residualplanner.linked.measuring import LinkedMeasurement, noise_of_tables
from residualplanner.linked.plan import LinkedPlan
from residualplanner.linked.rules import rule_from_json
from residualplanner.linked.tables import LinkedTable, LinkedTables
from residualplanner.method.privacy import Budget
from residualplanner.publish.saving import load_tables
from residualplanner.release.devices import Device
from residualplanner.release.reconstruct import reconstruct as reconstruct_one
from residualplanner.release.release import Release

_FORMAT = "residualplanner/linked-release"
#: The file that says what is in the folder, for programs; the page for people; and the file of each release.
_MANIFEST, _PAGE, _OF_RELEASE = "linked.json", "README.md", "manifest.json"


@dataclass(frozen=True, eq=False, repr=False)
class LinkedRelease(Mapping[str, Release]):
    """A mapping from tables to their releases.

    Attributes:
        plan: what was measured.
        releases: that of each table; each is the `Release` that its own measurement gives, with all that it can do.
    """

    plan: LinkedPlan
    releases: Mapping[str, Release]

    def __getitem__(self, name: str) -> Release:
        return self.releases[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plan)

    def __len__(self) -> int:
        return len(self.releases)

    def __repr__(self) -> str:
        return f"<LinkedRelease of {' and '.join(map(repr, self))}{warning_of(self.noise)}>"

    @property
    def noise(self) -> NoiseRecord:
        """How the noise of all tables was drawn, and what it cost together."""
        return noise_of_tables(self.plan, self.releases)

    @property
    def sentence(self) -> str:
        """The sentence that may be signed for all tables together, or the reason why there is none."""
        return self.noise.sentence

    def save(self, folder: PathLike, format: Any = None, **options: Any) -> None:
        """Write all tables to a new folder, whole or not at all, with a folder in it for each table.

        Args:
            folder: one that does not exist, or is empty.
            format: as for `Release.save`.
            options: likewise, the same for all tables: ``profile``, ``level``, ``quality``, ``publication``,
                ``workers``.

        The page ``README.md`` has the sentence to sign, and says what is in which folder; ``linked.json`` says it for
        programs, with the rules of computed columns.  `load` reads the folder, and `load_tables` that of each table.

        Raises:
            FileExistsError: the folder exists and is not empty.
            ArgumentError, BudgetError, MissingExtraError, OSError, ResourceError, WorkloadError: as by `Release.save`.
        """
        require_path("linked_release.save", folder, 'release.save("release")')
        with write_folder_atomically(folder) as unfinished:
            for name, release in self.items():
                release.save(unfinished / name, format, **options)
            text = json.dumps(self._manifest(unfinished), allow_nan=False, indent=2) + "\n"
            (unfinished / _PAGE).write_text(self._page, encoding="utf-8")
            (unfinished / _MANIFEST).write_text(text, encoding="ascii")

    def _manifest(self, folder: Path) -> dict[str, Any]:
        stated = self.plan.tables.to_json()
        for name, about in stated["tables"].items():
            about["manifest_sha256"] = _sha256(folder / name / _OF_RELEASE)
        noise = self.noise
        return {
            "format": _FORMAT,
            "version": FORMAT_VERSION,
            **stated,
            "budget": self.plan.budget.to_json(),
            "weights": dict(self.plan.weights),
            "plan_sha256": self.plan.sha256,
            "pcost": cost_text(noise),
            "guarantee": noise.guarantee,
        }

    @property
    def _page(self) -> str:
        lines = ["# Tables about the same units", "", self.sentence, "", "| table | queries | records of a unit |"]
        lines.append("|---|---|---|")
        tables = self.plan.tables
        lines += [f"| [{name}]({name}/) | {len(self[name]):,} | up to {tables[name].records:,} |" for name in self]
        rules = [(name, column, tables[name].derived[column].words) for name, column in tables.derived]
        lines += ["", *(f"- `{column}` of {name}: {words}" for name, column, words in rules)] if rules else []
        return "\n".join(lines) + "\n"


def reconstruct(measurement: LinkedMeasurement, *, device: Device | str | None = None) -> LinkedRelease:
    """All tables that follow from what was measured, as `residualplanner.reconstruct` makes them; it costs no budget.

    Args:
        measurement: from `residualplanner.linked.measure`.
        device: as for `residualplanner.reconstruct`.

    Raises:
        ArgumentError, MissingExtraError, DeviceError: as by `residualplanner.reconstruct`.
    """
    remedy = "write linked.reconstruct(linked.measure(plan, data))"
    require_type("linked.reconstruct", "measurement", measurement, LinkedMeasurement, remedy)
    releases = {name: reconstruct_one(own, device=device) for name, own in measurement.items()}
    return LinkedRelease(measurement.plan, releases)


def load(folder: PathLike) -> LinkedRelease:
    """Open the folder that `LinkedRelease.save` has written.

    Args:
        folder: of all tables.

    Returns:
        The release, with the estimates that were saved, bit for bit.

    Raises:
        FileFormatError: a file is missing, was altered since the release was saved, is of another version, or is not
            what it should be; the message names it.
        OSError: the folder cannot be read.

    Guarantees: what is said of privacy is computed again from what was measured.
    """
    require_path("linked.load", folder, 'linked.load("release")')
    path = Path(folder) / _MANIFEST
    if not path.is_file():
        raise FileFormatError(f"{path} is missing: this is no release of several tables; load_tables reads one of one")
    refuse = partial("{}: {}; copy the folder again, or save the release again".format, path)
    try:
        stated = parse_json(limited_bytes(path, 2**24, name=path).decode("ascii"))
        found = _of_manifest(Path(folder), stated)
        if json.dumps(found._manifest(Path(folder))) != json.dumps(stated):
            raise FileFormatError("it says something else than the tables beside it")
        return found
    except FileFormatError as error:
        raise FileFormatError(refuse(error)) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # this library's own are such, too
        raise FileFormatError(refuse(f"it does not hold what it should ({type(error).__name__})")) from None


def _of_manifest(folder: Path, stated: Any) -> LinkedRelease:
    if stated["format"] != _FORMAT:
        raise FileFormatError("it is not that of a release of several tables")
    require_version(stated["version"], None, kind="release of several tables")
    releases, tables = dict[str, Release](), dict[str, LinkedTable]()
    for name, about in stated["tables"].items():
        if Path(name).name != name or _sha256(folder / name / _OF_RELEASE) != about["manifest_sha256"]:
            raise FileFormatError(f"the manifest of table {name!r} is another than when it was saved")
        releases[name] = load_tables(folder / name)
        rules = {column: rule_from_json(rule) for column, rule in about["derived"].items()}
        tables[name] = LinkedTable(releases[name].plan.workload, about["records"], about["order"], rules)
    plans = {name: each.plan for name, each in releases.items()}
    linked = LinkedTables(tables, stated["unit"])
    for name, each in releases.items():
        kept, table = each.noise.kept, tables[name]
        if kept.person is not None and kept != Contributions(linked.unit, table.records, table.order):
            raise FileFormatError(f"other records of table {name!r} were counted than it says")
    return LinkedRelease(LinkedPlan(linked, plans, Budget.from_json(stated["budget"]), stated["weights"]), releases)


def _sha256(path: Path) -> str:
    if not path.is_file():
        raise FileFormatError(f"{path} is missing")
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""The noisy answers that the tables of a folder follow from, for those who have the tables and no measurement.

Reads: unbiased tables that were saved.  Gives: a release of the same tables.
Source: spec eq. (7): residuals are linear in tables, and unbiased tables are consistent with one another.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from residualplanner._array_hashes import content_hash
from residualplanner._checks import FloatArray
from residualplanner._verified_file import VerifiedFile
from residualplanner.errors import WorkloadError
from residualplanner.measurement import FloatResiduals, NoiseStatement
from residualplanner.plan import Plan
from residualplanner.postprocessing.cells import components_of_counts
from residualplanner.postprocessing.components import ComponentLayout, answers_of
from residualplanner.reconstruction import Release, SavedParts, SavedTables
from residualplanner.stores import AnyPath
from residualplanner.strategy import BasisGroups, basis_groups
from residualplanner.workload import subsets_of, written_query


@dataclass(frozen=True, eq=False)
class TableAnswers:
    """Noisy answers that were computed from tables.

    Attributes:
        plan: what was measured, with how much noise.
        residuals: the answers, exact but for rounding.
        noise: how the noise was drawn.
    """

    plan: Plan
    residuals: FloatResiduals
    noise: NoiseStatement

    @cached_property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""
        return content_hash({}, self.residuals.to_arrays())

    def with_residuals(self, residuals: FloatResiduals) -> "TableAnswers":
        """The same with other answers."""
        return replace(self, residuals=residuals)

    def files(self, path: AnyPath) -> tuple[VerifiedFile, ...]:
        """There are none: the answers stand in no file."""
        del path
        raise WorkloadError("answers that were computed from tables are in no file; load the measurement")


def release_of_tables(tables: SavedTables | SavedParts) -> Release:
    """The release that saved tables are of.

    Args:
        tables: as `load_tables` opens them.

    Raises:
        FileFormatError: a table is missing or was altered.
        WorkloadError: the tables are not unbiased, some of their cells were left out, or they do not give all that was
            measured because they are of other kinds of query than single values.

    Cost: one table at a time is read.
    """
    if not tables.product.is_unbiased:
        raise WorkloadError(
            f"the tables of {tables.folder} are not the unbiased estimates ({tables.product.name}); name the "
            "measurement, or a folder of unbiased tables"
        )
    layout = ComponentLayout(basis_groups(tables.plan.strategy))
    missing = {tuple(members): number for number, members in enumerate(tables.plan.closure)}
    components = np.empty(layout.count)
    for query in tables:
        written = written_query(tables.plan.domain, query).in_domain_order
        found = [members for members in subsets_of(written.positions) if members in missing]
        if found and all(kind.is_identity for kind in written.kinds):
            table = tables[query].estimate.transpose(np.argsort(tables[query].positions))
            for members in found:
                number = missing.pop(members)
                layout.put(components, number, _component(table, written.positions, members, layout.groups, number))
    if missing:
        raise WorkloadError(
            f"the tables of {tables.folder} do not give all that was measured, because some are of other kinds of "
            "query than single values, or left out; name the measurement"
        )
    if not np.isfinite(components).all():
        raise WorkloadError(f"some estimates of {tables.folder} were left out; name the measurement")
    return Release(TableAnswers(tables.plan, answers_of(layout, components), tables.noise))


def _component(
    table: FloatArray, positions: tuple[int, ...], members: tuple[int, ...], groups: BasisGroups, number: int
) -> FloatArray:
    """The component of a set, from a table of counts that has all its attributes, in the order of the domain."""
    others = tuple(axis for axis, position in enumerate(positions) if position not in members)
    maps = components_of_counts(groups.bases[int(groups.group[number])])
    counts = np.ascontiguousarray(table.sum(axis=others)[None])
    found: FloatArray = (counts if maps.is_identity else maps.apply(counts))[0]
    return found

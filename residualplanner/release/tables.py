"""Tables by query: what a release and a folder of saved tables have in common.

Reads: queries.  Gives: Tables.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DomainError, WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.html import workload_html
from residualplanner.method.workload.query import QueryKey, QueryLike, WrittenQuery, written_query
from residualplanner.release.origin import Provenance
from residualplanner.release.product import UNBIASED, Product
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd


class Tables(Mapping[Any, Table]):
    """A mapping from queries to tables, whose axes are in the order in which the query is written.

    It iterates over the queries of the workload, in its order.
    """

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """What was measured, with how much noise."""

    @property
    @abstractmethod
    def noise(self) -> NoiseRecord:
        """How the noise was drawn."""

    @property
    def numbers(self) -> IntArray:
        """The numbers of the queries of the workload whose tables are here, ascending, (t,)."""
        return np.arange(len(self.plan.workload))

    @property
    def product(self) -> Product:
        """What the numbers are: unbiased estimates, or something made from them."""
        return UNBIASED

    @property
    def published_errors(self) -> "pd.DataFrame | None":
        """The errors of numbers that are not unbiased, where a folder has them, from ``published-errors.csv``."""
        return None

    @property
    def _provenance(self) -> Provenance:
        """What is said of the numbers of each table."""
        return Provenance(self.plan, self.product, warning=warning_of(self.noise).removeprefix("; "))

    @abstractmethod
    def _require(self, query: WrittenQuery) -> None:
        """Raise WorkloadError unless there is a table for the query."""

    @abstractmethod
    def _table(self, query: WrittenQuery) -> Table:
        """The table of a query that there is one for."""

    def __getitem__(self, query: QueryLike) -> Table:
        """The table of a query, its axes in the order in which the query is written.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice in the query.
            WorkloadError: there is no table for the query: a release answers it where what was measured of its
                attributes does, and a folder where it is a query of the workload.
            FileFormatError: the file of a saved table is missing, was altered, or is another table; it is named.
            MissingExtraError: a saved table is a workbook, and openpyxl is not installed.
        """
        return self._table(self._written(query))

    def __contains__(self, query: object) -> bool:
        """Whether there is a table for the query; none is made or read to find out."""
        try:
            self._written(query)
        except (DomainError, WorkloadError):
            return False
        return True

    def get(self, query: Any, default: Any = None) -> Any:
        """The table of a query, or ``default`` where there is none; a table that cannot be read is an error."""
        try:
            written = self._written(query)
        except (DomainError, WorkloadError):
            return default
        return self._table(written)

    def __iter__(self) -> Iterator[QueryKey]:
        return iter(self.plan.workload)

    def _repr_html_(self) -> str:
        return workload_html(self.plan.workload, self, remedy="iterate over the tables for all")

    def __len__(self) -> int:
        return len(self.plan.workload)

    def _written(self, query: Any) -> WrittenQuery:
        written = written_query(self.plan.domain, query)
        self._require(written)
        return written

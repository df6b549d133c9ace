from .files.formats import Publication as Publication
from .files.formats import Quality as Quality
from .files.formats import require_exportable as require_exportable
from .maps.boundaries import Boundaries as Boundaries
from .maps.choropleths import choropleth as choropleth
from .report.report import write_report as write_report
from .sdmx import write_sdmx as write_sdmx

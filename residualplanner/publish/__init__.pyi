from .files.formats import Publication as Publication
from .files.formats import Quality as Quality
from .files.formats import require_exportable as require_exportable
from .maps import Boundaries as Boundaries
from .maps import choropleth as choropleth
from .report import write_report as write_report
from .sdmx import write_sdmx as write_sdmx

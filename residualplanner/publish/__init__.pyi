from .maps import Boundaries as Boundaries
from .maps import choropleth as choropleth
from .report import write_report as write_report
from .style import Publication as Publication
from .style import Quality as Quality
from .style import require_exportable as require_exportable

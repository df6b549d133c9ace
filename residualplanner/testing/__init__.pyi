from .bases import check_basis as check_basis
from .kinds import check_kind as check_kind
from .plans import check_plan as check_plan
from .sources import check_source as check_source

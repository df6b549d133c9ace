from . import microdata as microdata
from . import rap as rap
from .mixtures.fitting import Descent as Descent
from .mixtures.fitting import Ensemble as Ensemble
from .nonnegative.published_errors_simulation import published_errors as published_errors
from .synthesis.fitted_mixture import FitQuality as FitQuality
from .synthesis.records import SyntheticRecords as SyntheticRecords
from .synthesis.synthesize import synthesis_plan as synthesis_plan

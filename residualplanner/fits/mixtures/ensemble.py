"""Several mixtures fitted to the same answers from different starts, and their mean.

Reads: a loss, starts.  Gives: EnsembleFit.
Source: eq. (73).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from residualplanner.fits.mixtures.descent import Descent, Fit, Start, fit
from residualplanner.fits.mixtures.loss import Loss
from residualplanner.fits.mixtures.mixture import Mixture, averaged
from residualplanner.fits.mixtures.rounding import Report, unreported
from residualplanner.fits.mixtures.starting import start_at
from residualplanner.ground.checks import is_integer, require_type, value_text
from residualplanner.ground.errors import ArgumentError

#: Makes the start of a member with so many classes.
StartMaker = Callable[[int, np.random.Generator], Start]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How many mixtures are fitted, and how large each is.

    Attributes:
        members: mixtures, each from a start of its own.
        classes: products in each.
        descent: how each is fitted.
        together: how their mean is then fitted further, as one mixture; by default it is left as it is.

    Raises:
        ArgumentError: there is no mixture, or no class, or a descent is not one.
    """

    members: int = 8
    classes: int = 50
    descent: Descent = field(default_factory=Descent)
    together: Descent = field(default_factory=lambda: Descent(steps=0))

    def __post_init__(self) -> None:
        if not (is_integer(self.members, least=1) and is_integer(self.classes, least=1)):
            raise ArgumentError(
                "an ensemble needs 1 or more mixtures of 1 or more classes, got "
                f"{value_text(self.members)} of {value_text(self.classes)}"
            )
        for name in ("descent", "together"):
            require_type("Ensemble", name, getattr(self, name), Descent, f"write {name}=Descent(steps=100)")


@dataclass(frozen=True, eq=False, slots=True)
class EnsembleFit:
    """Fitted mixtures.

    Attributes:
        mixture: all together: their mean, or what it has become.
        members: each by itself.
    """

    mixture: Mixture
    members: tuple[Fit, ...]


def fit_ensemble(
    loss: Loss, start: StartMaker, ensemble: Ensemble, *, seed: int = 0, report: Report = unreported
) -> EnsembleFit:
    """The mean of several mixtures of small loss, fitted further as one.

    What only one of them has learned of the noise counts less in it.

    Args:
        loss: how far a mixture is from what was measured.
        start: makes the start of a member.
        ensemble: how many, and how large.
        seed: of the starts; the same seed gives the same mixtures.
        report: called after each member.

    Source: eq. (73).
    """
    fits = []
    for number, generator in enumerate(np.random.default_rng(seed).spawn(ensemble.members), start=1):
        fits.append(fit(loss, start(ensemble.classes, generator), ensemble.descent))
        report(number, ensemble.members)
    mean = averaged([each.mixture for each in fits])
    if ensemble.together.steps:
        mean = fit(loss, start_at(mean), ensemble.together).mixture
    return EnsembleFit(mean, tuple(fits))

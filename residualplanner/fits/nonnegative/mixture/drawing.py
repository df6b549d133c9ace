"""Tables of mixtures made again from noise around published ones.

Reads: answers, facts.  Gives: what draws them.
The noise is continuous and from a generator with a seed; it is not the noise of a release.
Source: eqs. (6), (48) and (68).
"""

from collections.abc import Callable

import numpy as np

from residualplanner.fits.nonnegative.components import ComponentLayout, answers_of, measured_components, noise_like
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.nonnegative.mixture.fitted import fit_mixture
from residualplanner.fits.nonnegative.newton import ROUNDING
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.release.release import Release


def mixture_draws(
    facts: Facts, measurement: NoisyAnswers, adjusted: NoisyAnswers
) -> Callable[[np.random.Generator], tuple[Release, float]]:
    """What gives, for each draw of the noise, the tables of a mixture, and how far from 0 zeros are by rounding.

    Args:
        facts: what is known anyway.
        measurement: the noisy answers.
        adjusted: those that the tables follow from around which noise is drawn.
    """
    plan = measurement.plan
    layout = ComponentLayout(basis_groups(plan.strategy))
    center = measured_components(layout, adjusted)

    def draw(generator: np.random.Generator) -> tuple[Release, float]:
        noisy = answers_of(layout, center + noise_like(layout, plan.noise_variances, generator))
        fitted = fit_mixture(measurement.with_residuals(noisy), facts, seed=int(generator.integers(2**31)))
        return Release(adjusted.with_residuals(fitted.residuals())), 3 * ROUNDING * fitted.records

    return draw

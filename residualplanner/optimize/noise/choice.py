"""What a selection gives: noise variances, the loss they reach, and a proof of how good they are."""

from dataclasses import dataclass

from residualplanner._checks import FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class NoiseChoice:
    """Noise variances of all base mechanisms, with the loss they reach and a bound no other choice can pass.

    Attributes:
        noise_variance (m,): sigma squared of every base mechanism, in counts squared.
        loss: the loss of this choice.
        bound: no choice of the same privacy cost has a lower loss; equal to ``loss`` for a closed form.
        status: how the choice was found, in a few words.
        weights (q,): the weights of the queries with which a search ended, so that a like problem may begin with them.
    """

    noise_variance: FloatArray
    loss: float
    bound: float
    status: str
    weights: FloatArray | None = None

    @property
    def gap(self) -> float:
        """How far the loss may be above the optimum, relative to the bound; 0 for a closed form."""
        if self.loss <= self.bound:
            return 0.0
        return (self.loss - self.bound) / self.bound if self.bound > 0 else float("inf")

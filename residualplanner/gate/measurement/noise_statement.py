"""What files, reports and messages say of noise: of one measurement, or of several together.

Reads: noise records with their plans, or what a release says of them.  Gives: NoiseStatement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from residualplanner.gate.measurement.combined_plan import is_combined_from
from residualplanner.gate.measurement.noise_record import Kind, NoiseRecord, noise_from_json
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import json_text
from residualplanner.ground.words import fraction_text
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import PrivacyClaim

_SEEDED = NoiseRecord(seed=0).randomness


class NoiseStatement(Protocol):
    """How noise was drawn, and what may be claimed for it: a `NoiseRecord`, or a `CombinedNoise` of several."""

    @property
    def kind(self) -> Kind:
        """Either "discrete" or "gaussian"."""
        ...

    @property
    def pcost(self) -> Fraction | None:
        """The exact privacy cost of discrete noise."""
        ...

    @property
    def is_private(self) -> bool:
        """Whether nobody could foresee it."""
        ...

    @property
    def randomness(self) -> str:
        """Where it came from, in words."""
        ...

    @property
    def has_guarantee(self) -> bool:
        """Whether a sentence may be signed for it."""
        ...

    @property
    def guarantee(self) -> str:
        """The sentence as files have it: it starts with "none: " if there is no guarantee."""
        ...

    @property
    def sentence(self) -> str:
        """The one to sign, or the reason why there is none; then which records are left out."""
        ...

    @property
    def omission(self) -> str:
        """Which records are in no table, in a sentence; empty where all are."""
        ...

    @property
    def measured(self) -> tuple[tuple[Plan, NoiseRecord], ...]:
        """The plan and the noise of each of several measurements; empty for one."""
        ...

    def published(self, plan: Plan) -> dict[str, Any]:
        """All that a release of a plan says of it, as JSON values."""
        ...


@dataclass(frozen=True, slots=True)
class CombinedNoise:
    """How the noise of several measurements was drawn, and what may be claimed for all of them together.

    Attributes:
        plans: of the measurements.
        records: how the noise of each was drawn.
    """

    plans: tuple[Plan, ...] = field(compare=False, repr=False)
    records: tuple[NoiseRecord, ...]

    @property
    def kind(self) -> Kind:
        """The noise of all: discrete if that of each is, else continuous."""
        return "discrete" if all(record.kind == "discrete" for record in self.records) else "gaussian"

    @property
    def pcost(self) -> Fraction | None:
        """The exact privacy cost of all together; None where that of one is not known."""
        costs = [record.pcost for record in self.records if record.pcost is not None]
        return sum(costs, Fraction(0)) if len(costs) == len(self.records) else None

    @property
    def is_private(self) -> bool:
        """Whether nobody could foresee the noise of any."""
        return all(record.is_private for record in self.records)

    @property
    def randomness(self) -> str:
        """Where the noise came from, in words."""
        return ", ".join(dict.fromkeys(record.randomness for record in self.records))

    @property
    def has_guarantee(self) -> bool:
        """Whether a sentence may be signed for all of them."""
        return all(record.has_guarantee for record in self.records)

    @property
    def guarantee(self) -> str:
        """The sentence as files have it: it starts with "none: " if there is no guarantee."""
        return self.sentence if self.has_guarantee else f"none: {self.sentence}"

    @property
    def omission(self) -> str:
        """Which records are in no table, and how much the others count: what one of the measurements says, once."""
        return "  ".join(dict.fromkeys(record.omission for record in self.records if record.omission))

    @property
    def sentence(self) -> str:
        """The sentence that may be signed for all of them, or the reason why there is none: the gravest."""
        without = [record for record in self.records if not record.has_guarantee]
        if without:  # noise that somebody can foresee before noise that nobody can
            return min(without, key=lambda record: record.is_private).sentence
        claim = PrivacyClaim(self.pcost or Fraction(0), self.records[0].neighbors, "discrete")
        covered = f"This covers {len(self.records)} measurements of the records, whose costs add up."
        ledgers = dict.fromkeys(f"{sentence.removesuffix('.')}." for sentence in self._ledger_sentences)
        return "  ".join(filter(None, (claim.released, covered, *ledgers, self.omission)))

    @property
    def measured(self) -> tuple[tuple[Plan, NoiseRecord], ...]:
        """The plan and the noise of each."""
        return tuple(zip(self.plans, self.records, strict=True))

    def published(self, plan: Plan) -> dict[str, Any]:
        """All that a release says of it, as JSON values: what holds for all together, then for each."""
        return {
            "kind": self.kind,
            "randomness": self.randomness,
            "pcost": None if self.pcost is None else fraction_text(self.pcost),
            "neighbors": plan.neighbors.words,
            "guarantee": self.guarantee,
            "measurements": [{"plan_sha256": plan_hash(own), **record.published(own)} for own, record in self.measured],
        }

    @property
    def _ledger_sentences(self) -> list[str]:
        return [record.ledger_sentence for record in self.records if record.ledger_sentence]


def warning_of(noise: NoiseStatement) -> str:
    """The end of a short description of what was made from noisy answers: empty where privacy is guaranteed.

    Example:
        >>> exact = NoiseRecord("discrete", pcost=Fraction(1))
        >>> [warning_of(noise) for noise in (NoiseRecord(seed=1), NoiseRecord(), exact)]
        ['; no guarantee: seeded, not private', '; no guarantee: continuous noise', '']
    """
    if noise.has_guarantee:
        return ""
    return f"; no guarantee: {'continuous noise' if noise.is_private else noise.randomness}"


def noise_of_release(stated: object, plan: Plan, plans: Sequence[Plan]) -> NoiseStatement:
    """Undo ``published``, if every word is true of the plans.

    Args:
        stated: what a release says of its noise.
        plan: of the release.
        plans: of its measurements, where it says that there are several.

    Raises:
        FileFormatError: a field is missing, superfluous or contradicts the plans; or the plan is not that of all
            measurements together.
        BudgetError: an exact cost is another than the stated one, or more than the budget of its plan.
        WorkloadError: the plans do not fit together.
    """
    if not isinstance(stated, Mapping) or "measurements" not in stated:
        return _record_of_release(stated, plan)
    several = stated["measurements"]
    if not isinstance(several, list) or len(several) != len(plans) or len(plans) < 2:
        raise FileFormatError("it does not say what the noise of each measurement was")
    if not is_combined_from(plan, plans):
        raise FileFormatError("its plan is not that of all measurements together")
    records = tuple(
        _record_of_release(_about_noise(statement), own) for statement, own in zip(several, plans, strict=True)
    )
    noise = CombinedNoise(tuple(plans), records)
    if json_text(dict(stated)) != json_text(noise.published(plan)):
        raise FileFormatError("what it says of all measurements together does not follow from each")
    return noise


def _about_noise(statement: object) -> object:
    """What is said of one of several measurements, without the hash of its plan."""
    if not isinstance(statement, Mapping):
        return statement
    return {name: value for name, value in statement.items() if name != "plan_sha256"}


def _record_of_release(stated: object, plan: Plan) -> NoiseRecord:
    """How the noise of one measurement was drawn, if every word is true of its plan."""
    if not isinstance(stated, Mapping) or "seed" in stated:
        raise FileFormatError("it does not say what the noise was")
    # No release holds its seed, and nothing depends on which it was: any number will do.
    seed = 0 if stated.get("randomness") == _SEEDED else None
    return noise_from_json({**stated, "seed": seed}, plan)

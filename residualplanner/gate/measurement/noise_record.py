"""How noise was drawn, of one measurement or of several together, and the sentence that may be signed for it."""

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy

from residualplanner.gate.discrete_gaussian import InsecureTestBits, OperatingSystemBits
from residualplanner.gate.measurement import precision as exact
from residualplanner.gate.sources.limited_records import Contributions, contributions_from_json, stated_contributions
from residualplanner.ground.checks import has_shape
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.version import __version__
from residualplanner.ground.words import GET_IT_BACK, TEXT_LIMIT, decimal_text_up, fraction_text
from residualplanner.method.domain.domain import Domain, remarks_of
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Neighbors, PrivacyClaim

if TYPE_CHECKING:
    from residualplanner.gate.ledger import Ledger

_VERSION = re.compile(r"(?=.{1,50}\Z)[0-9]+(\.[0-9A-Za-z+]+)+", re.ASCII)
_CONTRADICTION = f"what a measurement says about its noise contradicts itself; {GET_IT_BACK}"


def package_versions() -> tuple[tuple[str, str], ...]:
    """Names and versions of the packages that compute here."""
    return (
        ("residualplanner", __version__),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("scipy", scipy.__version__),
    )


@dataclass(frozen=True, slots=True, repr=False)
class NoiseRecord:
    """How the noise of a measurement was drawn, or that of several together, and what may be claimed for it.

    Attributes:
        kind: "discrete": discrete Gaussian noise, exact in distribution; "gaussian": continuous, in floating point.
            Of several measurements it is discrete if that of each is.
        seed: of the generator of continuous noise, where the user gave one; None for a seed from the operating system.
        bits: of discrete noise: the mark of the source of its random bytes.
        pcost: of discrete noise: the exact privacy cost.
        neighbors: the change that the privacy statement is about, in words.
        versions: of the packages that drew the noise.
        unlimited_because: the reason of the ledger that was charged for having no budget; empty where it has one.
        kept: which records of each person were counted.
        omission: which records are in no table, and how much the others count, in sentences; or empty.
        plans: of several measurements; none for one.
        records: how the noise of each of several was drawn, in which case seed, bits, versions, unlimited_because and
            kept are said there; none for one.
    """

    kind: Literal["discrete", "gaussian"] = "gaussian"
    seed: int | None = None
    bits: str = OperatingSystemBits.mark
    pcost: Fraction | None = None
    neighbors: str = "adding or removing one record"
    versions: tuple[tuple[str, str], ...] = field(default_factory=package_versions)
    unlimited_because: str = ""
    kept: Contributions = Contributions()  # noqa: RUF009 - frozen
    omission: str = ""
    plans: tuple[Plan, ...] = field(default=(), compare=False)
    records: tuple["NoiseRecord", ...] = ()

    @classmethod
    def of_several(cls, plans: Sequence[Plan], records: Sequence["NoiseRecord"]) -> "NoiseRecord":
        """The noise of several measurements together, from their plans and the record of each."""
        costs = [record.pcost for record in records if record.pcost is not None]
        return cls(
            kind="discrete" if all(record.kind == "discrete" for record in records) else "gaussian",
            pcost=sum(costs, Fraction(0)) if len(costs) == len(records) else None,
            neighbors=records[0].neighbors,
            omission="  ".join(dict.fromkeys(record.omission for record in records if record.omission)),
            plans=tuple(plans),
            records=tuple(records),
        )

    def of_run(self, ledger: "Ledger | None", data: object, neighbors: Neighbors) -> "NoiseRecord":
        """The same noise, where its cost is charged to a ledger, if any, and these records are counted."""
        reason = "" if ledger is None or ledger.budget is not None else ledger.reason
        kept = replace(stated_contributions(data, neighbors.records_per_person), key=b"")
        return replace(self, unlimited_because=reason, kept=kept)

    def told(self, domain: Domain) -> "NoiseRecord":
        """The same noise, with what readers must know of the records: which are counted, and how much."""
        return replace(self, omission="  ".join(filter(None, (self.kept.sentence, remarks_of(domain)))))

    def __repr__(self) -> str:
        cost = "" if self.pcost is None else f", pcost {decimal_text_up(self.pcost)}"
        return f"<NoiseRecord: {self.kind}, {self.randomness}{cost}>"

    @property
    def measured(self) -> tuple[tuple[Plan, "NoiseRecord"], ...]:
        """The plan and the noise of each of several measurements; none where this is the noise of one."""
        return tuple(zip(self.plans, self.records, strict=True))

    @property
    def is_private(self) -> bool:
        """Whether nobody could foresee the noise."""
        of_one = self.seed is None and self.bits == OperatingSystemBits.mark
        return of_one and all(record.is_private for record in self.records)

    @property
    def randomness(self) -> str:
        """Where the noise came from, in words."""
        if self.records:
            return ", ".join(dict.fromkeys(record.randomness for record in self.records))
        if self.is_private:
            return "operating system"
        return self.bits if self.kind == "discrete" else "seeded, not private"

    @property
    def has_guarantee(self) -> bool:
        """Whether a sentence may be signed for it: the noise is exact, its cost is known, nobody could foresee it."""
        return self.kind == "discrete" and self.pcost is not None and self.is_private

    @property
    def guarantee(self) -> str:
        """The sentence as files have it: it starts with "none: " if there is no guarantee."""
        return self.sentence if self.has_guarantee else f"none: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The sentence that may be signed for it, or the reason why there is none; then which records are left out."""
        without = [record for record in self.records if not record.has_guarantee]
        if without:  # noise that somebody can foresee before noise that nobody can
            return min(without, key=lambda record: record.is_private).sentence
        about = self._about_privacy
        return f"{about.removesuffix('.')}.  {self.omission}" if self.omission else about

    def published(self, plan: Plan) -> dict[str, Any]:
        """All that a release of a plan says of its noise, as JSON values; never a seed."""
        if not self.records:
            return {name: value for name, value in noise_to_json(self, plan).items() if name != "seed"}
        return {
            "kind": self.kind,
            "randomness": self.randomness,
            "pcost": cost_text(self),
            "neighbors": plan.neighbors.words,
            "guarantee": self.guarantee,
            "measurements": [{"plan_sha256": plan_hash(own), **record.published(own)} for own, record in self.measured],
        }

    @property
    def _about_privacy(self) -> str:
        if self.bits == InsecureTestBits.mark:
            return "anyone can foresee the bits that the noise was made from"
        if self.seed is not None:
            return "whoever knows the seed can take the noise away"
        if self.pcost is None:
            return PrivacyClaim(Fraction(0), self.neighbors, "gaussian").released
        released = PrivacyClaim(self.pcost, self.neighbors, self.kind).released
        if not self.records:
            return "  ".join(filter(None, (released, self._about_ledger)))
        covered = f"This covers {len(self.records)} measurements of the records, whose costs add up."
        ledgers = [record._about_ledger for record in self.records if record.unlimited_because]
        return "  ".join([released, covered, *dict.fromkeys(f"{said.removesuffix('.')}." for said in ledgers)])

    @property
    def _about_ledger(self) -> str:
        return f"Its ledger limits no total: {self.unlimited_because}" if self.unlimited_because else ""


def warning_of(noise: NoiseRecord) -> str:
    """The end of a short description of what was made from noisy answers: empty where privacy is guaranteed."""
    if noise.has_guarantee:
        return ""
    return f"; no guarantee: {'continuous noise' if noise.is_private else noise.randomness}"


def cost_text(noise: NoiseRecord) -> str | None:
    """The exact cost as files state it; None where it is not known."""
    return None if noise.pcost is None else fraction_text(noise.pcost)


def noise_to_json(noise: NoiseRecord, plan: Plan) -> dict[str, Any]:
    """All that files say of the noise that a plan was measured with, as JSON values."""
    seeded = OperatingSystemBits.mark if noise.seed is None else "the caller"
    return {
        "kind": noise.kind,
        "randomness": noise.randomness,
        "source": noise.bits if noise.kind == "discrete" else f"numpy.random.SFC64 with a seed from {seeded}",
        "seed": noise.seed,
        "pcost": cost_text(noise),
        "precision": None if noise.pcost is None else exact.precision_rule(plan),
        "neighbors": noise.neighbors,
        "unlimited_because": noise.unlimited_because,
        "guarantee": noise.guarantee,
        "package_versions": dict(noise.versions),
        **noise.kept.to_json(),
    }


def noise_from_json(stated: object, plan: Plan) -> NoiseRecord:
    """Undo `noise_to_json`, if every word is true of the plan: the exact cost and all sentences are derived anew.

    FileFormatError where a field is missing, superfluous, of another type, or contradicts the others or the plan;
    BudgetError where the exact cost is another than the stated one, or more than the plan's budget.
    """
    if not isinstance(stated, Mapping) or set(stated) - {"people"} != set(noise_to_json(NoiseRecord(), plan)):
        raise FileFormatError("a measurement must say which kind of noise it has, and where it came from")
    kind, seed, source = stated["kind"], stated["seed"], stated["source"]
    if seed is not None and (type(seed) is not int or seed < 0):
        raise FileFormatError("a seed must be an integer, at least 0, or absent")
    is_exact = kind == "discrete" and source in (OperatingSystemBits.mark, InsecureTestBits.mark) and seed is None
    if not is_exact and kind != "gaussian":
        raise FileFormatError(_CONTRADICTION)
    bits, cost = source if is_exact else OperatingSystemBits.mark, None
    if is_exact:
        cost = exact.exact_price(plan)[1]
        if stated["pcost"] != fraction_text(cost):
            raise BudgetError(
                f"the measurement states the exact cost {str(stated['pcost'])[:80]!r}, but its plan's noise costs "
                f"{fraction_text(cost)[:80]!r}; {GET_IT_BACK}"
            )
    reason = stated["unlimited_because"]
    if not (isinstance(reason, str) and len(reason) <= TEXT_LIMIT and reason.isprintable()):
        raise FileFormatError("the reason why a ledger has no budget must be a short printable string, or empty")
    here, versions = dict(package_versions()), stated["package_versions"]
    if not has_shape(versions, dict.fromkeys(here, str)) or not all(map(_VERSION.fullmatch, versions.values())):
        raise FileFormatError(f"a measurement must give the versions of {[*here]}, such as '1.26.4'")
    kept, packages = contributions_from_json(stated.get("people"), plan), tuple({**here, **versions}.items())
    record = NoiseRecord(kind, seed, bits, cost, plan.neighbors.words, packages, reason, kept)
    for candidate in (record.told(plan.domain), record):  # what is in a store says nothing of omissions
        if dict(stated) == noise_to_json(candidate, plan):
            return candidate
    raise FileFormatError(_CONTRADICTION)

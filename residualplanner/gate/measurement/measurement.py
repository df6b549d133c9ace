"""All that leaves the gate: noisy answers, their plan, and how the noise was drawn; and the file of these.

Nothing here contains the number of records, their origin, or a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.noise_record import NoiseRecord, noise_from_json, noise_to_json
from residualplanner.gate.measurement.noisy_answers import wide_from_words
from residualplanner.gate.measurement.precision import lattice_divisors, precision_of
from residualplanner.ground.archive import archive_pieces, open_archive, write_archive
from residualplanner.ground.array_hashes import VerifiedFile, content_hash
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import FileFormatError, memory_for
from residualplanner.ground.notebooks import caption_of, html_table
from residualplanner.ground.words import GET_IT_BACK, count_text, decimal_text_up
from residualplanner.method.plan.files import plan_from_archive, plan_to_archive
from residualplanner.method.plan.plan import Plan
from residualplanner.method.strategy.basis_groups import basis_groups

if TYPE_CHECKING:
    from residualplanner.ground.stores import AnyPath, Bucket

_FIELDS = {"plan", "plan_sha256", "noise"}
_PLAN = "plan/"
_ANSWERS = {"discrete": {"integers", "wide_groups", "wide_integers"}, "gaussian": {"residuals"}}


@dataclass(frozen=True, eq=False)
class Measurement:
    """The noisy answers of all base mechanisms of a plan.  Everything computed from it is free of cost.

    Attributes:
        plan: which sets of attributes were measured, with how much noise.
        residuals: the answers: integers and their divisors where the noise is discrete, floats where it is continuous.
        noise: how the noise was drawn, and which records the plan's domain leaves out.
        mapped_from: the file in which the answers stand, if they were left on disk, as it was when its hashes were
            compared.
    """

    plan: Plan
    residuals: Residuals
    noise: NoiseRecord
    mapped_from: VerifiedFile | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", self.noise.told(self.plan.domain))

    def __repr__(self) -> str:
        sets = count_text(len(self.plan.closure), "attribute set")
        return f"<Measurement of {sets}: {self.noise.kind}, {self.noise.randomness}>"

    def _repr_html_(self) -> str:
        return measurement_html(self, self.plan, self.residuals, self.noise)

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers, of whatever plan: 64 hexadecimal digits.

        It is computed once, where they were not read from a file whose hashes have been compared.  Where they were left
        on disk, and the file system says that the file is not as it was, it is computed again.

        Raises:
            FileFormatError: the answers were left on disk, and have been altered there.
        """
        known, file = self._answers_sha256, self.mapped_from
        if file is not None and not file.is_unchanged() and content_hash({}, self.residuals.to_arrays()) != known:
            raise FileFormatError(
                f"{file.path} was altered while it was in use: its answers are not those that were loaded; get the "
                "file back as it was, and load it again"
            )
        return known

    @cached_property
    def _answers_sha256(self) -> str:
        return content_hash({}, self.residuals.to_arrays(), self.residuals.hashes)

    @property
    def measurements(self) -> tuple["Measurement"]:
        """It alone."""
        return (self,)

    @property
    def published(self) -> "Measurement":
        """The same as the folder of a release has it: without a seed."""
        return replace(self, noise=self.noise if self.noise.seed is None else replace(self.noise, seed=0))

    def with_residuals(self, residuals: Residuals) -> "Measurement":
        """The same with other answers, such as those of tables that have been adjusted."""
        return replace(self, residuals=residuals, mapped_from=None)

    def file(self, path: "AnyPath") -> VerifiedFile:
        """The file that the answers stand in: the one that they were left in, or the one at ``path``."""
        if self.mapped_from is not None and isinstance(path, Path):  # who reads a bucket may not see this disk
            return self.mapped_from
        return VerifiedFile(path, None, {})

    def save(self, path: "PathLike | Bucket") -> None:
        """Write the measurement and its plan to one file, whole or not at all; `load_measurement` reads it.

        Args:
            path: of the file, or its address in a bucket, such as ``s3://bucket/people.measurement``.

        Raises:
            OSError: the file cannot be written.
        """
        from residualplanner.ground.stores.bucket import path_given  # buckets stay out of what measuring needs

        write_archive(path_given("measurement.save", path, 'measurement.save("people.measurement")'), **self._archive)

    def write(self, file: IO[bytes]) -> None:
        """Write the same to an open file; OSError where it cannot be written."""
        archive_pieces(**self._archive)(file)

    @property
    def _archive(self) -> dict[str, Any]:
        plan, plan_arrays = plan_to_archive(self.plan)
        noise = noise_to_json(self.noise, self.plan)
        header = {"plan": plan, "plan_sha256": content_hash(plan, plan_arrays), "noise": noise}
        arrays = {_PLAN + name: array for name, array in plan_arrays.items()} | self.residuals.to_arrays()
        return {"kind": "measurement", "header": header, "arrays": arrays}


class NoisyAnswers(Protocol):
    """Noisy answers that tables follow from: of one measurement, the averages of several, or those of a folder."""

    @property
    def plan(self) -> Plan:
        """Which sets of attributes were measured, with how much noise."""

    @property
    def residuals(self) -> Residuals:
        """The answers."""

    @property
    def noise(self) -> NoiseRecord:
        """How the noise was drawn."""

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Those that the answers are from."""

    def with_residuals(self, residuals: Residuals) -> "NoisyAnswers":
        """The same with other answers."""


def measurement_html(measurement: object, plan: Plan, residuals: Residuals, noise: NoiseRecord) -> str:
    """A measurement as a notebook shows it, a row for each fact; none depends on an answer."""
    cost = "not stated" if noise.pcost is None else decimal_text_up(noise.pcost)
    rows = [
        ("tables", f"{len(plan.workload):,}"),
        ("residual answers", f"{residuals.count:,}"),
        ("neighbors", plan.neighbors.words),
        ("noise", f"{noise.kind}, {noise.randomness}"),
        ("pcost", cost),
        ("guarantee", noise.guarantee),
    ]
    return html_table(caption_of(measurement), ["", "measured"], rows)


@memory_for("to read this measurement; use a machine with more memory")
def load_measurement(path: "PathLike | Bucket", *, mapped: bool = False) -> Measurement:
    """Read a measurement that `Measurement.save` wrote, and check it.

    Args:
        path: the file, or its address in a bucket.
        mapped: leave the answers on disk, where they are larger than memory or few of them are needed; the file must
            stay as it is for as long as the measurement, or a release of it, is used.  Of a file in a bucket there is
            then a copy among the temporary files, without a name.

    Raises:
        FileFormatError: the file is not a measurement, truncated, altered, of another version, or does not fit.
        BudgetError: the noise of its plan costs more than its budget, or another amount than the file states.
        OSError: the file cannot be opened.

    Guarantees: the exact cost is computed anew from the plan.
    """
    from residualplanner.ground.stores.bucket import path_given

    return _read(path_given("load_measurement", path, 'load_measurement("people.measurement")'), mapped=mapped)


def map_measurement(file: VerifiedFile) -> Measurement:
    """A file of a measurement, mapped; hashes that any process has compared are not again if it is the same file."""
    return _read(file.path, mapped=True, verified=file)


def _read(path: "AnyPath", *, mapped: bool, verified: VerifiedFile | None = None) -> Measurement:
    from residualplanner.ground.stores import local_file

    with local_file(path) as at:
        try:
            header, arrays, file = open_archive(at, kind="measurement", mapped=mapped, verified=verified)
        except FileFormatError as refusal:
            raise FileFormatError(str(refusal).replace(str(at), str(path))) from None
    if set(header) != _FIELDS or not isinstance(header["plan"], dict):
        raise FileFormatError(f"a measurement must have the fields {sorted(_FIELDS)}")
    plan_arrays = {name.removeprefix(_PLAN): array for name, array in arrays.items() if name.startswith(_PLAN)}
    if content_hash(header["plan"], plan_arrays) != header["plan_sha256"]:
        raise FileFormatError(f"the plan in this measurement is not the one that was measured; {GET_IT_BACK}")
    plan = plan_from_archive(header["plan"], plan_arrays)
    noise = noise_from_json(header["noise"], plan)
    if set(arrays) != _ANSWERS[noise.kind] | {_PLAN + name for name in plan_arrays}:
        raise FileFormatError("a measurement must have its answers and the arrays of its plan, and no others")
    # of the arrays of answers that are kept just as the file has them
    hashes = {name: digest for name, digest in file.hashes.items() if name in ("integers", "residuals")}
    residuals = _answers(plan, arrays, noise, hashes)
    return Measurement(plan, residuals, noise, file if mapped and isinstance(path, Path) else None)


def _answers(plan: Plan, arrays: Mapping[str, Any], noise: NoiseRecord, hashes: Mapping[str, str]) -> Residuals:
    groups = basis_groups(plan.strategy)
    if noise.kind == "gaussian":
        return Residuals(groups, arrays["residuals"], hashes=hashes)
    wide = wide_from_words(groups, arrays["wide_groups"], arrays["wide_integers"])
    divisors = lattice_divisors(groups, precision_of(plan.noise_variances), plan.neighbors, plan.domain.denominator)
    return Residuals(groups, arrays["integers"], divisors, wide, hashes)

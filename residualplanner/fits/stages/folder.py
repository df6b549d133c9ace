"""The folder of stages: what was drawn, in what groups, and every attempt to draw, before it is made.

Source: docs/mathematics.md section 13, on stages.
"""

import hashlib
import io
import re
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from residualplanner.fits.stages.staged_plan import StageChoice, StagedPlan
from residualplanner.fits.synthesis.coarsening import Coarsening, coarsened_domain
from residualplanner.fits.synthesis.measured_tables import Stage
from residualplanner.gate.ledger import Ledger
from residualplanner.gate.measurement.measurement import Measurement, load_measurement
from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import FileFormatError, StoreError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.stores import ObjectStore, open_store, path_at
from residualplanner.method.domain.domain import Domain

#: The names in a folder: of the run, of a stage's groups of values and answers, of attempts, and of the end.
_RUN, _GROUPS, _ANSWERS = "run.json", "stage-{}.json", "stage-{}.measurement"
_ATTEMPTS, _COMPLETE = "attempts/", "complete"
#: The most bytes of the file of a run.
_LONGEST = 1 << 26


@dataclass(frozen=True, slots=True)
class KeptStages:
    """What is kept of a run, in a folder if there is one, and what tells it from its copies."""

    identifier: str  # random; the ledger's entries name it
    sha256: str  # of what is measured, and the identifier
    store: ObjectStore | None

    @property
    def is_complete(self) -> bool:
        """Whether all stages were measured."""
        return self.store is not None and bool(self.store.names(_COMPLETE))

    def drawn(self, plan: StagedPlan) -> list[Stage]:
        """The stages that were measured before; FileFormatError where they are not those of this plan, or some lack."""
        stages, domain = list[Stage](), plan.domain
        while self.store is not None and self.store.names(_ANSWERS.format(len(stages))):
            name = _ANSWERS.format(len(stages))
            measurement = load_measurement(path_at(str(self.store)) / name)
            order, coarsenings = _coarsenings_from_json(parse_json(self._text(_GROUPS.format(len(stages)))), domain)
            if measurement.plan.domain != coarsened_domain(domain, coarsenings):
                raise FileFormatError(f"{name} in {self.store} is not of the groups of values that it was measured in")
            if measurement.plan.neighbors != plan.protected:
                raise FileFormatError(f"{name} in {self.store} protects other neighbors than its run does")
            stages.append(Stage(measurement, coarsenings, order))
        spent = sum(own.noise.pcost or 0 for stage in stages for own in stage.measurement.measurements)
        if spent > plan.cost or (self.is_complete and self._text(_COMPLETE) != str(len(stages))):
            raise FileFormatError(f"the stages in {self.store} cost more than was charged, or some of them are missing")
        return stages

    def _text(self, name: str) -> str:
        assert self.store is not None
        try:
            return self.store.read(name)[:_LONGEST].decode("utf-8", "replace")
        except FileNotFoundError:
            raise FileFormatError(f"{name} is missing in {self.store}") from None

    def claim(self, ledger: Ledger | None) -> None:
        """Make an attempt to draw a stage known, so that no copy of the folder draws the same one."""
        if self.store is None:
            return
        name = f"{_ATTEMPTS}{len(self.store.names(_ATTEMPTS)):06d}"
        if not self.store.create_if_absent(name, secrets.token_hex(32).encode("ascii")):
            raise self._other_run()
        self._record(_stage(name), ledger)

    def _record(self, stage: str, ledger: Ledger | None) -> None:
        """Have the ledger know a stage; BudgetError where it knows one that this folder lacks."""
        if ledger is None or self.store is None:
            return
        names = [*self.store.names(_ATTEMPTS), *self.store.names(_COMPLETE)]
        known = {_stage(name): hashlib.sha256(self.store.read(name)).hexdigest() for name in names}
        ledger.record_stage(self.identifier, stage, known[stage], known=known)

    def keep(self, number: int, choice: StageChoice, measurement: Measurement) -> None:
        """Write a stage; StoreError where another run has written it."""
        if self.store is None:
            return
        groups = [[each.attribute, each.groups.tolist()] for each in choice.coarsenings]
        file = io.BytesIO()
        measurement.write(file)
        self.store.create_if_absent(_GROUPS.format(number), json_text({"order": choice.order, "groups": groups}))
        if not self.store.create_if_absent(_ANSWERS.format(number), file.getvalue()):
            raise self._other_run()

    def complete(self, stages: int, ledger: Ledger | None) -> None:
        """Note that nothing is left to measure, also in the ledger, so that no stage that is removed is drawn again."""
        if self.store is not None:
            self.store.create_if_absent(_COMPLETE, str(stages).encode("ascii"))
            self._record(_stage(_COMPLETE), ledger)

    def _other_run(self) -> StoreError:
        return StoreError(f"another run is at work in {self.store}; let it end, or end it, and try again")


def _stage(name: str) -> str:
    """What the ledger calls an attempt, or the end."""
    return "answers" if name == _COMPLETE else f"generation {int(name.removeprefix(_ATTEMPTS))}"


def _coarsenings_from_json(stated: object, domain: Domain) -> tuple[int, tuple[Coarsening, ...]]:
    """Of how many attributes the sets of a stage are, and these in groups; FileFormatError where it is damaged."""
    try:
        order, groups = int(stated["order"]), stated["groups"]  # type: ignore[index]
        found = tuple(Coarsening(int(at), frozen(np.array(each, dtype=np.int64))) for at, each in groups)
        sizes = [domain.sizes[each.attribute] for each in found]
        is_sound = all(
            each.groups.shape == (size,) and np.array_equal(np.unique(each.groups), np.arange(each.count))
            for each, size in zip(found, sizes, strict=True)
        )
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        is_sound = False
    if not is_sound:
        raise FileFormatError("the groups of values of a stage are damaged, or of another schema")
    return order, found


def stated_run(store: ObjectStore) -> dict[str, Any]:
    """What the file of a run says, FileNotFoundError where there is none; FileFormatError where it is damaged."""
    stated = parse_json(store.read(_RUN)[:_LONGEST].decode("utf-8", "replace"))
    if not isinstance(stated, dict) or not re.fullmatch("[0-9a-f]{32}", str(stated.get("identifier"))):
        raise FileFormatError(f"{_RUN} in {store} is damaged")
    require_version(stated.get("version"), None, kind="stages", where=f"{_RUN} in {store}: ")
    return stated


def opened_folder(folder: object | None, staged: StagedPlan) -> KeptStages:
    """What is kept of a run, which is begun where there is none; FileFormatError where the folder is of another one."""
    about = {
        "format": "residualplanner/stages",
        "version": FORMAT_VERSION,
        "domain": staged.domain.to_json(),
        "budget": staged.budget.to_json(),
        "neighbors": staged.neighbors,
        "records_per_person": staged.records_per_person,
        "identifier": secrets.token_hex(16),
    }
    store = None if folder is None else open_store(folder)
    if store is not None and not store.create_if_absent(_RUN, json_text(about)):
        stated = stated_run(store)
        about["identifier"] = stated["identifier"]
        if json_text(stated) != json_text(about):
            raise FileFormatError(
                f"{store} holds stages of another schema, budget or neighbors, or is damaged; name another folder"
            )
    return KeptStages(str(about["identifier"]), hashlib.sha256(json_text(about)).hexdigest(), store)

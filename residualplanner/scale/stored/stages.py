"""The stages of a release, recorded in its ledger so that a copy of its store is found out.

Reads: a release, its ledger.  Gives: BudgetError where the ledger has a stage from a copy of the store.

A snapshot of a store, and the store itself, can both be resumed.  Each generation has random bytes of its own in the
store, and its hash in the ledger before anything is drawn in it; the hash of all answers is there before they can be
read.  So whoever holds an older copy lacks a stage that the ledger has, and draws nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from residualplanner.gate.ledger import Ledger
from residualplanner.ground.errors import StoreError
from residualplanner.ground.json import json_text
from residualplanner.scale.stored.answer_objects import Receipt
from residualplanner.scale.stored.object_names import GENERATIONS, generation_of, numbered_names
from residualplanner.scale.stored.release import StoredRelease

_ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Stages:
    """What a ledger knows of the stages of a release; without a ledger, nothing can be told.

    Attributes:
        release: what is measured.
        ledger: is charged for it.
    """

    release: StoredRelease
    ledger: Ledger | None

    def require_own(self) -> None:
        """Raise BudgetError if the ledger has a stage that this store does not hold."""
        if self.ledger is not None:
            self.ledger.require_stages(self.release.terms.identifier, known=self._generations())

    def issue(self, generation: int) -> None:
        """Record a generation that the store holds, before anything is drawn in it.

        Raises:
            BudgetError: as `require_own`.
            StoreError: the ledger cannot be written.
        """
        known = self._generations()
        self._record(_stage(generation), known[_stage(generation)], known)

    def complete(self, receipts: Sequence[Receipt]) -> None:
        """Record which answers make up the release, before they can be read; errors as of `issue`."""
        answers = [[receipt.generation, receipt.sha256] for receipt in receipts]
        digest = hashlib.sha256(json_text(answers)).hexdigest()
        self._record(_ANSWERS, digest, self._generations() | {_ANSWERS: digest})

    def _record(self, stage: str, digest: str, known: dict[str, str]) -> None:
        if self.ledger is None:
            return
        try:
            self.ledger.record_stage(self.release.terms.identifier, stage, digest, known=known)
        except OSError as error:
            raise StoreError(f"the ledger could not be written: {error.strerror or error}") from None

    def _generations(self) -> dict[str, str]:
        """The digest of each generation that the store holds."""
        store = self.release.store
        names = numbered_names(store, GENERATIONS)
        return {_stage(generation_of(name)): hashlib.sha256(store.read(name)).hexdigest() for name in names}


def _stage(generation: int) -> str:
    return f"generation {generation}"

"""What a worker does with the counts of a task: it claims the task, draws the noise, and publishes the answers.

Reads: counts, where they are.  Gives: a receipt; the noisy answers go to the store alone.
"""

import os
from dataclasses import dataclass

from residualplanner.gate.discrete_gaussian import ByteSource, NoiseError
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import StoreError
from residualplanner.scale.stored.answer_objects import Outcome, Receipt, answer_bytes, find_answers
from residualplanner.scale.stored.object_names import (
    CLAIMS,
    answer_name,
    claim_name,
    generation_of,
    numbered_names,
    of_task,
)
from residualplanner.scale.stored.release import StoredRelease
from residualplanner.scale.stored.tasks import tasks_of_release


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws tasks in one generation; it is sent to the workers, and holds no record.

    Attributes:
        release: what is measured.
        generation: in which; issued by the driver.
        source: of random bytes.
    """

    release: StoredRelease
    generation: int
    source: ByteSource

    def __call__(self, task: int, counted: list[IntArray]) -> bytes:
        """Draw a task, unless that was done or begun before, and return the bytes of its receipt.

        Whatever goes wrong is reported as an `Outcome`, never raised: engines log the errors of their workers.
        """
        try:
            receipt = self._attempt(task, counted)
        except StoreError:
            receipt = Receipt(task, Outcome.STORE)
        except NoiseError:
            receipt = Receipt(task, Outcome.NOISE)
        except Exception:  # noqa: BLE001 - counts are in sight
            receipt = Receipt(task, Outcome.FAILED)
        return receipt.to_bytes()

    def _attempt(self, task: int, counted: list[IntArray]) -> Receipt:
        """Steps 4a to 4e; from the claim on, nothing depends on a value until the answers are published."""
        release, store = self.release, self.release.store
        tasks = tasks_of_release(release)  # before the claim, so that it is not wasted if the plan cannot be read
        found = find_answers(release, task)
        if found.outcome is Outcome.ANSWERED or not self._claim(task):
            return found if found.outcome is Outcome.ANSWERED else Receipt(task, Outcome.LOST)
        answers = tasks.answers(task, counted, self.source)
        witness = os.urandom(32).hex()
        content, receipt = answer_bytes(release, task, self.generation, witness, answers)
        del answers
        if store.create_if_absent(answer_name(task, self.generation), content):
            return receipt
        # The generation was closed meanwhile, or the store cannot tell that these are ours: what it holds counts.
        found = find_answers(release, task)
        return found if found.outcome is Outcome.ANSWERED else Receipt(task, Outcome.LOST)

    def _claim(self, task: int) -> bool:
        """Whether nobody has claimed the task in this generation or a later one, and nobody else can from now on."""
        store = self.release.store
        claims = map(generation_of, numbered_names(store, of_task(CLAIMS, task)))
        if any(generation >= self.generation for generation in claims):
            return False
        return store.create_if_absent(claim_name(task, self.generation), os.urandom(16).hex().encode("ascii"))


@dataclass(frozen=True, slots=True)
class AnswerSearch:
    """Finds the receipts of answers that are in the store; it is sent to the workers.

    Attributes:
        release: what is measured.
    """

    release: StoredRelease

    def __call__(self, task: int) -> bytes:
        """The bytes of the receipt of a task."""
        return find_answers(self.release, task).to_bytes()

"""The answers of one task as the bytes of an object, and the receipt that goes to the driver in their place."""

import hashlib
import io
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from residualplanner.gate.measurement.answers import IntegerResiduals
from residualplanner.ground.archive import archive_pieces, parse_archive
from residualplanner.ground.array_hashes import Array
from residualplanner.ground.checks import is_sha256
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.json import json_text, parse_json
from residualplanner.scale.stored.release import ANSWERS, StoredRelease, generation_of, numbered_names, of_task

_KIND, _VERSION = "answers", 1
#: The content of a claim, or of answers, that only keeps others from being made.
CLOSED = b"closed"


class Outcome(StrEnum):
    """How an attempt to draw a task ended."""

    ANSWERED = "answered"
    NONE = "none"  # nobody has published answers yet
    LOST = "lost"  # somebody else claimed the task, or the generation is over
    STORE = "store"  # the store failed
    NOISE = "noise"  # random bytes or arithmetic failed a check
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the driver learns of a task; the last three fields are those of its answers, if there are any."""

    task: int
    outcome: Outcome
    generation: int = -1
    sha256: str = ""
    #: 32 random bytes, drawn after the noise, as hexadecimal digits; equal ones show that machines, or the states of
    #: their generators, were cloned.
    witness: str = ""

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json_text(asdict(self))


def receipt_of_bytes(content: bytes) -> Receipt:
    """Undo `Receipt.to_bytes`; FileFormatError where that did not write it."""
    stated = parse_json(content.decode("utf-8", "replace"))
    try:
        receipt = Receipt(**{**stated, "outcome": Outcome(stated["outcome"])})
    except (TypeError, KeyError, ValueError):
        raise FileFormatError("a worker sent something other than a receipt") from None
    numbers, words = (receipt.task, receipt.generation), (receipt.sha256, receipt.witness)
    if any(type(number) is not int for number in numbers) or any(not isinstance(word, str) for word in words):
        raise FileFormatError("a worker sent a receipt with a field of another type")
    if receipt.outcome is Outcome.ANSWERED and not (receipt.generation >= 0 and all(map(is_sha256, words))):
        raise FileFormatError("a worker sent a receipt without the hash of the answers")
    return receipt


def answer_bytes(
    release: StoredRelease, task: int, generation: int, witness: str, answers: IntegerResiduals
) -> tuple[bytes, Receipt]:
    """The object that holds the answers of a task, and its receipt."""
    header = {**_header(release, task, generation), "witness": witness}
    file = io.BytesIO()
    archive_pieces(kind=_KIND, version=_VERSION, header=header, arrays=answers.to_arrays())(file)
    content = file.getvalue()
    return content, Receipt(task, Outcome.ANSWERED, generation, hashlib.sha256(content).hexdigest(), witness)


def read_answers(
    release: StoredRelease, task: int, generation: int, content: bytes
) -> tuple[Receipt, dict[str, Array]]:
    """Undo `answer_bytes`; FileFormatError where it is damaged, or of another release, task or generation."""
    where = f"the answers of task {task} in {release.store}"
    try:
        header, arrays = parse_archive(content, kind=_KIND, version=_VERSION)
    except FileFormatError as error:
        raise FileFormatError(f"{where} are damaged: {error}") from None
    witness = header.pop("witness", None)
    if header != _header(release, task, generation) or not is_sha256(witness):
        raise FileFormatError(f"{where} belong to another release or task")
    digest = hashlib.sha256(content).hexdigest()
    return Receipt(task, Outcome.ANSWERED, generation, digest, witness), arrays


def find_answers(release: StoredRelease, task: int) -> Receipt:
    """The receipt of a task's answers in the store; its outcome is "none" where there are none."""
    for name in numbered_names(release.store, of_task(ANSWERS, task)):
        content = release.store.read(name)
        if content != CLOSED:
            return read_answers(release, task, generation_of(name), content)[0]
    return Receipt(task, Outcome.NONE)


def _header(release: StoredRelease, task: int, generation: int) -> dict[str, Any]:
    terms = release.terms
    return {
        "release": terms.identifier,
        "plan_sha256": terms.plan_sha256,
        "source": terms.source,
        "task": task,
        "generation": generation,
    }

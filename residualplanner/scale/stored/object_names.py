"""The names of all objects of a release in its store.

Reads: numbers of tasks and generations, or a store.  Gives: names.
"""

import re

from residualplanner.ground.stores import ObjectStore

#: The object that opens a release, and the one that ends it: it lists the answers, or says that there are none.
RELEASE, MANIFEST = "release.json", "manifest.json"
ANSWERS, CLAIMS, GENERATIONS = "answers/", "claims/", "generations/"
_NUMBERED = re.compile(rf"(({ANSWERS}|{CLAIMS})[0-9]{{6}}\.|{GENERATIONS})[0-9]{{6}}", re.ASCII)


def plan_name(sha256: str) -> str:
    """The name of the plan with this hash."""
    return f"plans/{sha256}.plan"


def claim_name(task: int, generation: int) -> str:
    """The name of the claim of a task in a generation: somebody draws it, or nobody will."""
    return f"{CLAIMS}{task:06d}.{generation:06d}"


def answer_name(task: int, generation: int) -> str:
    """The name of the answers to a task in a generation, or of the object that says that there will be none.

    Example:
        >>> answer_name(12, 0)
        'answers/000012.000000'
    """
    return f"{ANSWERS}{task:06d}.{generation:06d}"


def of_task(folder: str, task: int) -> str:
    """The start of the names of all claims of a task, or of all answers to it."""
    return f"{folder}{task:06d}."


def generation_name(generation: int) -> str:
    """The name of the object that issues a generation."""
    return f"{GENERATIONS}{generation:06d}"


def numbered_names(store: ObjectStore, prefix: str) -> list[str]:
    """The names of claims, answers or generations that start with ``prefix``, ascending.

    Files that others leave in a folder, such as ``answers/.nfs0001`` and ``claims/.DS_Store``, are none of these.
    """
    return [name for name in store.names(prefix) if _NUMBERED.fullmatch(name)]


def generation_of(name: str) -> int:
    """The generation in a name.

    Example:
        >>> generation_of("claims/000012.000003"), generation_of("generations/000001")
        (3, 1)
    """
    return int(name[-6:])


def task_of(name: str) -> int:
    """The task in the name of a claim, or of answers.

    Example:
        >>> task_of("claims/000012.000003")
        12
    """
    return int(name[-13:-7])

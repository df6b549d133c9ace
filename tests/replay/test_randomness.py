"""Where the noise of a release comes from: the operating system alone, fresh for each call, or there is no release."""

import random
from multiprocessing import get_context

import numpy as np
import pandas as pd

from residualplanner import Domain, marginals, measure, select, zcdp
from watching import Seen, watched

PLAN = select(marginals(Domain({"a": 3, "b": 4}), up_to=2), budget=zcdp("0.5"))
PEOPLE = pd.DataFrame({"a": [0, 1, 2, 2], "b": [3, 0, 1, 1]})


def numbers() -> list[int]:
    return measure(PLAN, PEOPLE).residuals.integers.tolist()


GENERATORS = [
    *((np.random, name) for name in ("default_rng", "normal", "standard_normal", "randint", "random", "bytes")),
    *((np.random, name) for name in ("Generator", "RandomState")),
    *((random, name) for name in ("random", "getrandbits", "gauss", "randrange", "randbytes", "Random")),
]


def test_seeds_of_other_generators_change_nothing_and_none_of_them_is_used(monkeypatch):
    def poisoned(*given, **named):
        raise AssertionError("a generator that can be foreseen was used")

    found = []
    for seed in (1, 2, 3):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - it must play no part
        if seed == 3:
            for module, name in GENERATORS:
                monkeypatch.setattr(module, name, poisoned)
        with watched(Seen(), trace=False):
            found.append(numbers())
    assert found[0] == found[1] == found[2]


def _send(connection) -> None:
    connection.send(numbers())
    connection.close()


def test_calls_and_copies_of_one_process_never_share_noise():
    found = [tuple(numbers()) for _ in range(20)]
    context = get_context("fork")
    for _ in range(8):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_send, args=(there,))
        child.start()
        found.append(tuple(here.recv()))
        child.join()
    assert len(set(found)) == 28

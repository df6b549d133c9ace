"""Where the noise of a release comes from: the operating system alone, fresh for each call, or there is no release."""

import os
import random
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from residualplanner import Domain, load_measurement, marginals, measure, select, zcdp
from watching import FrozenRandomness

PLAN = select(marginals(Domain({"a": 3, "b": 4}), up_to=2), budget=zcdp("0.5"))
PEOPLE = pd.DataFrame({"a": [0, 1, 2, 2], "b": [3, 0, 1, 1]})


def numbers() -> list[int]:
    return measure(PLAN, PEOPLE).residuals.integers.tolist()


def failing(count):
    raise OSError("no entropy")


SOURCES = {
    "fails": failing,
    "is not there": lambda count: (_ for _ in ()).throw(NotImplementedError()),
    "gives too little": lambda count: os.getrandom(count - 1),
    "gives too much": lambda count: os.getrandom(count + 1),
    "gives zeros": bytes,
    "gives ones": lambda count: b"\xff" * count,
    "repeats a block": lambda count: b"0123456789abcdefghijklmnopqrstuv" * (count // 32 + 1),
    "gives no bytes": lambda count: "0" * count,
}


@pytest.mark.parametrize("fault", SOURCES)
def test_nothing_is_released_where_the_source_of_random_bytes(fault, monkeypatch):
    monkeypatch.setattr(os, "urandom", SOURCES[fault])
    with pytest.raises(rp.errors.ResidualPlannerError, match="nothing may be released") as caught:
        measure(PLAN, PEOPLE)
    assert caught.value.__context__ is None


def test_seeds_of_other_generators_change_nothing_and_none_of_them_is_used(monkeypatch):
    found = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - it must play no part
        monkeypatch.setattr(os, "urandom", FrozenRandomness())
        found.append(numbers())
    assert found[0] == found[1]

    def poisoned(*given, **named):
        raise AssertionError("a generator that can be foreseen was used")

    for name in ("default_rng", "normal", "standard_normal", "randint", "random", "bytes", "Generator", "RandomState"):
        monkeypatch.setattr(np.random, name, poisoned)
    for name in ("random", "getrandbits", "gauss", "randrange", "randbytes", "Random"):
        monkeypatch.setattr(random, name, poisoned)
    monkeypatch.setattr(os, "urandom", FrozenRandomness())
    assert numbers() == found[0]


def test_two_calls_never_share_noise():
    found = [tuple(numbers()) for _ in range(20)]
    assert len(set(found)) == 20


def _send(connection) -> None:
    connection.send(numbers())
    connection.close()


def test_eight_copies_of_one_process_draw_eight_different_noises():
    numbers()
    context = get_context("fork")
    found = []
    for _ in range(8):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_send, args=(there,))
        child.start()
        found.append(tuple(here.recv()))
        child.join()
    assert len(set(found)) == 8


def test_reading_a_measurement_twice_gives_the_same_bytes_and_never_new_noise(tmp_path, monkeypatch):
    measure(PLAN, PEOPLE).save(tmp_path / "kept")
    monkeypatch.setattr(os, "urandom", failing)
    first, second = load_measurement(tmp_path / "kept"), load_measurement(tmp_path / "kept")
    assert first.residuals.integers.tobytes() == second.residuals.integers.tobytes()

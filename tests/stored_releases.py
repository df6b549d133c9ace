"""Releases in stores, for tests: runs that end early, and stores and ledgers that do something else on the way."""

import numpy as np
import pytest

import residualplanner as rp
from benchmarks.protocol_world import MemoryStore
from inner_parts import measuring, spend

DOMAIN = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(1))
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, (300, len(DOMAIN)))
LITTLE = 16  # cells a task: several tasks


class Stopped(Exception):  # noqa: N818 - it is no error
    """The run was stopped."""


def stored(plan, records, store, **options):
    """What is measured with options that users do not have."""
    return measuring.begun(plan, records, store, measuring.Options(**options))


def stopped(store, *, draws=1, **options):
    """The error in which a run ends that is stopped when so many tasks have been drawn."""

    def report(done, _total):
        if done == draws:
            raise Stopped

    with pytest.raises(Stopped) as caught:
        stored(PLAN, RECORDS, store, progress=spend.WatchedProgress(report), **{"task_cells": LITTLE} | options)
    return caught.value


class Watched(MemoryStore):
    """A store that calls a function with the name and the content of each object before it is made."""

    def __init__(self, before):
        super().__init__()
        self.before = before

    def create_if_absent(self, name, content):
        self.before(name, content)
        return super().create_if_absent(name, content)


class Interrupted(rp.Ledger):
    """A ledger whose user gives up at the first charge."""

    is_tried = False

    def charge(self, *arguments, **options):
        if not self.is_tried:
            self.is_tried = True
            raise KeyboardInterrupt
        return super().charge(*arguments, **options)

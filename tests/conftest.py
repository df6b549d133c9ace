"""Which tests are slow, and how many examples hypothesis makes, the same ones in every run."""

import gc
import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

#: One thread of linear algebra in each process: where two processes share two cores, more wait for one another most of
#: the time.  It is said before NumPy is loaded, here and in the processes that tests start.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

#: What takes most of the time: replays, statistics, engines, a browser, killed processes, whole figures and pages.
SLOW = (
    "shell/cli/test_killed.py",
    "docs",
    "figures",
    "gate/discrete_gaussian",
    "gate/ledger/test_ledger_machine.py",
    "gate/measurement/test_what_leaves_the_gate.py",
    "publish/report/test_browser.py",
    "replay",
    "scale/cuda/test_twin.py",
    "scale/engines/test_engines.py",
    "scale/engines/test_every_engine.py",
    "scale/engines/test_linked_tables.py",
    "scale/engines/test_spark.py",
    "scale/stored/test_readiness.py",
    "statistical",
    "test_fuzz.py",
)
_SLOW = frozenset(Path(__file__).parent / name for name in SLOW)
#: Of the examples that a test may be tried with, how many the suites make: this part of them, and at least so many.
#: They are the same in every run, but where the suite is thorough: then all are made, and others every time.
_ALL, _USUAL, _QUICK = (1, 1), (3, 10), (6, 8)


def pytest_addoption(parser):
    parser.addoption(
        "--thorough", action="store_true", help="all cases and examples of hypothesis, and others of these in every run"
    )


def pytest_configure(config):
    """Keep compiled modules, and say how many examples a test without a number of its own is tried with."""
    gc.disable()  # what is made while tests are collected lives to the end, and is not searched for circles
    sys.dont_write_bytecode = False  # to compile the package takes half of the time in which a process starts
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    settings.register_profile(
        "repeatable",
        derandomize=not config.option.thorough,
        deadline=None,
        database=None,
        max_examples=_fewer(50, config),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    settings.load_profile("repeatable")


def pytest_ignore_collect(collection_path, config):
    """Do not even import what the quick suite leaves out."""
    return True if _is_quick(config) and collection_path in _SLOW else None


def pytest_collection_modifyitems(items, config):
    """Mark the slow tests, so that ``-m "not slow"`` is the quick suite, and make fewer of many examples."""
    gc.freeze()
    gc.enable()
    if not config.option.thorough and len({item.path for item in items}) > 1:  # who runs one file wants all of it
        _leave_out(items, config)
    for item in items:
        if not _SLOW.isdisjoint((item.path, *item.path.parents)):
            item.add_marker(pytest.mark.slow)
    for test in {item.function for item in items if hasattr(item, "function")}:
        given = getattr(test, "_hypothesis_internal_use_settings", None)  # there is no public way to change it
        if given is not None:
            few = settings(given, max_examples=_fewer(given.max_examples, config))
            test._hypothesis_internal_use_settings = few


def _leave_out(items, config):
    """Deselect what only the thorough suite makes: tests marked so, and all but some cases of those marked so."""
    by_test, left = {}, set()
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
        if item.get_closest_marker("thorough"):
            left.add(item)
    for cases in by_test.values():
        mark = cases[0].get_closest_marker("cases")
        if mark and mark.args[0] < len(cases):
            left.update(set(cases) - {cases[number * len(cases) // mark.args[0]] for number in range(mark.args[0])})
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="module")
def memory_asked_once():
    """Of thousands of measurements only the first reads how much memory is left: it takes a sixth of their time."""
    modules = ("residualplanner.gate.measurement.blocks", "residualplanner.scale.workers.workers")
    asking = [importlib.import_module(name) for name in modules]
    left = list(asking[0].memory_left())
    with pytest.MonkeyPatch.context() as patch:
        for module in asking:
            patch.setattr(module, "memory_left", lambda *_system: iter(left))
        yield


def _fewer(examples, config):
    part, least = _ALL if config.option.thorough else _QUICK if _is_quick(config) else _USUAL
    return min(examples, max(least, examples // part))


def _is_quick(config):
    return config.option.markexpr == "not slow"

"""What is bound to fail for want of memory, or of room in an engine's results, is refused before the charge."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import basis_groups, blocks
from residualplanner import Domain, Workload, marginals, measure, pcost, reconstruct, select

PLAN = select(marginals(Domain({"a": 1000, "b": 1000}), up_to=2), budget=pcost(1))
GROUPS = basis_groups(PLAN.strategy)
NEEDED = blocks.measuring_bytes(GROUPS)


def system_of(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def require_memory(system, memory=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "memory_left", partial(blocks.memory_left, system))
        blocks.require_memory(GROUPS, memory=memory)


def meminfo(available, swap=0):
    return {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {available // 1024} kB\nSwapFree: {swap // 1024} kB\n"}


def second_version(most, used, inactive):
    inner = "sys/fs/cgroup/user/job"
    return meminfo(2**50) | {
        "proc/self/cgroup": "0::/user/job\n",
        f"{inner}/memory.max": "max\n",
        "sys/fs/cgroup/user/memory.max": f"{most}\n",
        "sys/fs/cgroup/user/memory.current": f"{used}\n",
        "sys/fs/cgroup/user/memory.stat": f"anon 5\ninactive_file {inactive}\n",
    }


def first_version(most, used, inactive):
    return meminfo(2**50) | {
        "proc/self/cgroup": "12:cpu,cpuacct:/\n4:memory:/docker/not-seen-from-here\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{most}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{used}\n",
        "sys/fs/cgroup/memory/memory.stat": f"total_inactive_file {inactive}\n",
    }


def test_what_is_needed_is_counted_from_the_sizes_of_tables():
    cells, answers = 1000 * 1000, 999 * 999
    assert 8 * (cells + answers) + 24 * cells < NEEDED < 8 * (cells + answers) + 24 * cells + 10 * 2**20


@pytest.mark.parametrize(
    ("files", "whose"),
    [
        (lambda room: meminfo(room - 2**20, 2**20), "the machine"),
        (lambda room: second_version(room + 2**30 - 2**20, 2**30, 2**20), "this container"),
        (lambda room: first_version(room + 2**30 - 2**20, 2**30, 2**20), "this container"),
    ],
)
def test_a_plan_is_refused_where_a_limit_leaves_too_little_and_only_there(tmp_path, files, whose):
    enough, short = NEEDED // 1024 * 1024 + 1024, NEEDED // 1024 * 1024 - 1024
    require_memory(system_of(tmp_path / "enough", files(enough)))
    with pytest.raises(rp.errors.ResourceError, match=rf"holds .* MiB .*, and {whose}.* has .* MiB left") as caught:
        require_memory(system_of(tmp_path / "short", files(short)))
    assert isinstance(caught.value, MemoryError)


def test_memory_that_is_allowed_must_be_there_and_more_than_needed_may_be(tmp_path):
    """With memory= no more is asked for than that, nor than what all counts and answers take."""
    assert blocks.measuring_bytes(GROUPS, 2**40) == NEEDED
    allowed = 2**25
    needed = blocks.measuring_bytes(GROUPS, allowed)
    assert allowed < needed < allowed + 10 * 2**20
    system = system_of(tmp_path, meminfo(needed + 1024))
    require_memory(system, allowed)
    for too_much in (allowed + 2**20, 2**40):
        with pytest.raises(rp.errors.ResourceError, match=r"the machine has .* MiB left; nothing was charged"):
            require_memory(system, too_much)


@pytest.mark.parametrize(
    "files", [{}, {"proc/meminfo": "odd\n"}, {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}]
)
def test_a_system_that_tells_nothing_refuses_nothing(tmp_path, files):
    require_memory(system_of(tmp_path, files))


LIMITED = """
import resource, residualplanner as rp
from residualplanner.gate.measurement.measure import require_measurable
plan = rp.select(rp.Workload(rp.Domain({"a": 33000, "b": 33000}), [("a", "b")]), budget=rp.pcost(1))
ledger = rp.Ledger(rp.pcost(2))
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 2**31,) * 2)
for ask in (
    lambda: rp.measure(plan, object(), ledger=ledger),
    lambda: rp.measure(plan, object(), ledger=ledger, memory=2**40),
    lambda: require_measurable(plan, ledger=ledger, again=False),
):
    try:
        ask()
    except rp.errors.ResourceError as error:
        print(ledger.spent, error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space are Linux's")
def test_more_than_a_billion_answers_are_refused_before_the_charge_and_before_records_are_looked_at():
    """They ended in a MemoryError behind it."""
    result = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True)
    assert [line.partition(" GiB")[0] for line in result.stdout.splitlines()] == [
        "0 too little memory: measuring holds 40.6"
    ] * 3, result.stdout


def out_of_memory(*_arguments, **_options):
    raise MemoryError


@pytest.mark.parametrize(
    ("where", "asked", "what"),
    [
        ("method.strategy.accuracy.Accuracy.table", ["variance", "covariance", "expected_max_abs_error"], "errors"),
        ("release.stacks.Reconstructor.stacks", ["__getitem__", "tables", "batches", "save"], "a table"),
    ],
)
def test_memory_that_runs_out_later_is_told_in_our_words(where, asked, what, monkeypatch, tmp_path):
    plan = select(Workload(Domain({"a": 3, "b": 2}), [("a", "b")]), budget=pcost(1))
    release = reconstruct(measure(plan, np.zeros((3, 2), dtype=np.int64)))
    given = {"tables": (), "batches": (), "save": (tmp_path / "out",)}
    monkeypatch.setattr(f"residualplanner.{where}", out_of_memory)
    for name in asked:
        work = getattr(plan if what == "errors" else release, name)
        with pytest.raises(rp.errors.ResourceError, match=f"not enough memory (for {what} of this size|to )"):
            list(work(*given.get(name, (("a",),))))
    assert not (tmp_path / "out").exists()

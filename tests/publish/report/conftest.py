"""Plans and releases to report on."""

import time

import pytest
from matplotlib.figure import Figure

import residualplanner as rp
from made_releases import any_release


@pytest.fixture
def without_pictures(monkeypatch):
    """For tests that look at no picture: to lay these out takes most of the time of a report."""
    monkeypatch.setattr(Figure, "savefig", lambda _figure, stream, **_options: stream.write("<svg></svg>"))


@pytest.fixture(scope="session")
def plan():
    """A plan for 15 tables, of marginals and prefix sums."""
    domain = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "sex": ["F", "M"], "region": 9, "income": 16})
    marginals = rp.marginals(domain, up_to=3)
    return rp.select(marginals + rp.Workload(domain, [{"income": rp.Prefix()}], [2]), budget=rp.zcdp("0.5"))


@pytest.fixture(scope="session")
def marginals_plan():
    domain = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "sex": ["F", "M"], "region": 30, "income": 40})
    return rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp("0.5"), loss=rp.losses.SumOfVariances("sqrt"))


@pytest.fixture(scope="session")
def release(marginals_plan):
    """A release of no data."""
    return any_release(marginals_plan)


@pytest.fixture(scope="session")
def many():
    """A plan for 4,526 tables."""
    return rp.select(rp.marginals(rp.Domain({f"a{i}": 2 + i for i in range(30)}), up_to=3), budget=rp.zcdp(1))


@pytest.fixture(scope="session")
def plan_folder(plan, tmp_path_factory):
    """A folder with the report on the plan, report.html, at level 0.9."""
    folder = tmp_path_factory.mktemp("plan")
    rp.publish.write_report(plan, folder / "report.html", level=0.9)
    return folder


@pytest.fixture(scope="session")
def release_folder(release, tmp_path_factory):
    """A folder with the report on the release, report.html, at level 0.9."""
    folder = tmp_path_factory.mktemp("release")
    rp.publish.write_report(release, folder / "report.html", level=0.9)
    return folder


@pytest.fixture(scope="session")
def many_report(many, tmp_path_factory):
    """The report on the plan for many tables, and how long it took to write, in seconds."""
    path, start = tmp_path_factory.mktemp("many") / "report.html", time.perf_counter()
    rp.publish.write_report(many, path)
    return path, time.perf_counter() - start

"""What a report says of privacy is true of the noise that is drawn, or says for which noise it is."""

import re
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

import residualplanner as rp
from exact_privacy import exact_delta
from html_pages import read_page
from residualplanner.publish.report.privacy import promise_of
from residualplanner.publish.report.subject import subject_of
from slowness import slow


def words_of(page):
    """What a page says, without scripts and styles."""
    return re.sub(r"<(script|style).*?</\1>", "", page.read_text(), flags=re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "budget", [rp.zcdp("0.5"), slow(rp.pcost(2)), rp.approx_dp("1", "1/1000000"), slow(rp.zcdp(20))], ids=repr
)
def test_a_plan_and_its_exact_release_claim_no_more_than_a_total_with_discrete_noise_has(budget, tmp_path):
    domain = rp.Domain({"a": 2})
    plan = rp.select(rp.Workload(domain, [()]), budget=budget)
    release = rp.reconstruct(rp.measure(plan, np.zeros((3, 1), dtype=np.int64)))
    release.save(tmp_path / "tables")
    for number, source in enumerate((plan, release, tmp_path / "tables")):
        path = tmp_path / f"{number}.html"
        rp.publish.write_report(source, path)
        assert not re.search(r"\bmu\b|GDP|\bcontinuous", words_of(path))
        (rows,) = (
            table.all("tr")[1:] for table in read_page(path).all("table") if "epsilon" in table.one("thead").text
        )
        pairs = [(row.one("th").text, row.one("td").text) for row in rows]
        (in_words,) = re.findall(r"e\^([\d.]+), plus ([\d.e/-]*\d)\.", words_of(path))
        assert len(pairs) >= 4
        pairs.append(in_words[::-1])
        for delta, epsilon in pairs:
            assert exact_delta(1 / Fraction(plan.noise_variances[0]), epsilon) <= Fraction(delta)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [rp.privacy.gdp("1"), rp.approx_dp("3", "0.01", noise="gaussian")], ids=repr)
def test_a_plan_for_continuous_noise_says_that_its_claims_are_for_that(budget, marginals_plan, tmp_path):
    plan = rp.select(marginals_plan.workload, budget=budget)
    promise = promise_of(subject_of(plan, level=0.95))
    assert "stated for continuous Gaussian noise in real numbers, and is refused where discrete" in promise.sentence
    assert [notion for notion, _, _ in promise.notions] == ["Budget as stated", "rho-zCDP", "mu-GDP"]
    assert promise.notions[0][1].endswith("for continuous noise")
    assert all("continuous" in remark for _, _, remark in promise.notions[1:])
    assert promise.terms == "rho-zCDP, mu-GDP, (epsilon, delta)-DP"
    rp.publish.write_report(plan, tmp_path / "report.html")
    assert "(epsilon, delta)-DP of continuous Gaussian noise in real numbers" in words_of(tmp_path / "report.html")


@pytest.mark.slow
def test_an_older_release_with_such_a_budget_is_told_in_zcdp(marginals_plan, tmp_path, monkeypatch):
    plan = rp.select(marginals_plan.workload, budget=rp.privacy.gdp("1"))
    # as older versions measured
    monkeypatch.setattr(
        import_module("residualplanner.gate.measurement.discrete"), "require_discrete", lambda budget: None
    )
    rp.measure(plan, np.zeros((5, 4), dtype=np.int64)).save(tmp_path / "m")
    monkeypatch.undo()
    rp.reconstruct(rp.load_measurement(tmp_path / "m")).save(tmp_path / "tables")
    rp.publish.write_report(tmp_path / "tables", tmp_path / "report.html")
    assert not re.search(r"\bmu\b|GDP|continuous", words_of(tmp_path / "report.html"))
    promise = promise_of(subject_of(tmp_path / "tables", level=0.95))
    assert promise.notions[0] == ("Budget", "0.5-zCDP", "")

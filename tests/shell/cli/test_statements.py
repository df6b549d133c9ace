"""What the commands say of privacy is true of the discrete noise that they draw, and nothing else is said."""

import json
import re
from fractions import Fraction

import pytest

import residualplanner as rp
from exact_privacy import exact_delta
from residualplanner import approx_dp, load_plan, select

TOTAL = """\
budget = {{ {} }}

[domain]
sex = ["F", "M"]

[[workload]]
queries = [[]]
"""
BUDGETS = [
    'zcdp = "0.01"',
    'zcdp = "0.5"',
    'zcdp = "2"',
    'zcdp = "20"',
    'pcost = "3"',
    'approx_dp = { epsilon = "3", delta = "0.01" }',
    'approx_dp = { epsilon = "1", delta = "1/1000000000" }',
]
CONTINUOUS = [rp.privacy.gdp("0.3"), approx_dp(3, 0.01, noise="gaussian")]


@pytest.fixture
def total(folder):
    """Write a spec for the total alone, with a budget, and records."""

    def write(budget):
        (folder / "total.toml").write_text(TOTAL.format(budget))
        (folder / "records.csv").write_text("sex\nF\nM\nF\n")
        return folder / "total.toml"

    return write


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_epsilon_that_is_told_is_true_of_a_total_with_discrete_noise(run, total, folder, budget):
    spec = total(budget)
    lines = run("plan", spec, "-o", "p", "--json").stdout.splitlines()
    lines += run("release", spec, "records.csv", "-o", "out", "--json").stdout.splitlines()
    events = [event for event in map(json.loads, lines) if event["event"] in ("budget", "spent")]
    assert len(events) == 3
    cost = 1 / Fraction(load_plan(folder / "p").noise_variances[0])
    for event in events:
        assert set(event) == {
            "event", "text", "statement", "pcost", "rho", "epsilon", "delta", "neighbors", "records_per_person",
        }  # fmt: skip
        assert 2 * Fraction(event["rho"]) >= cost
        pairs = [(event["epsilon"], event["delta"])]
        pairs += re.findall(r"epsilon ([\d.e+-]+) at delta ([\d.e/-]*\d)", event["text"])
        pairs += re.findall(r"e\^([\d.e+-]+), plus ([\d.e/-]*\d)", event["text"])
        pairs += re.findall(r"^\(([\d.]+), ([\d.e/-]+)\)-DP", event["text"])
        assert len(pairs) >= 2
        assert all(exact_delta(cost, epsilon) <= Fraction(delta) for epsilon, delta in pairs)


@pytest.mark.slow
def test_no_output_claims_what_holds_for_continuous_noise_alone(run, spec, records, folder):
    told = [run(*command).output for command in (
        ("init", records, "--header", "-o", "new.toml"),
        ("plan", spec, "-o", "p"),
        ("plan", spec, "-o", "q", "--at-most", "9", "--json"),
        ("plan", spec, "-o", "r", "--budget", "epsilon=1,delta=1e-9"),
        ("compare", "p", "q"),
        ("ledger", "l", "--create", "census", "--budget", "zcdp=1"),
        ("measure", "p", records, "-o", "m", "--ledger", "l", "--dry-run"),
        ("measure", "p", records, "-o", "m", "--ledger", "l"),
        ("reconstruct", "m", "-o", "tables"),
        ("release", spec, records, "-o", "out", "--ledger", "l", "--again", "--json"),
        ("ledger", "l"),
        ("report", "out", "-o", "out.html"),
        ("report", "p", "-o", "p.html"),
        *((word, "--help") for word in ("init", "plan", "measure", "release", "compare", "ledger", "report")),
    )]  # fmt: skip
    assert not [text for text in told if "Error: " in text]
    files = [path for path in folder.rglob("*") if path.suffix in (".toml", ".json", ".csv", ".html")]
    told += [re.sub(r"<(script|style).*?</\1>", "", path.read_text(), flags=re.DOTALL) for path in files]
    assert len(told) > 40
    for text in told:
        assert not re.search(r"\bmu\b|gdp|continuous", text, flags=re.IGNORECASE)


@pytest.mark.parametrize("budget", CONTINUOUS, ids=repr)
@pytest.mark.parametrize("option", [(), ("--dry-run",)])
def test_a_plan_for_continuous_noise_is_not_measured(run, spec, records, folder, budget, option):
    run("plan", spec, "-o", "p", "-q", status=0)
    select(load_plan(folder / "p").workload, budget=budget).save(folder / "other")
    run("ledger", "l", "--create", "census", "--budget", "zcdp=9", status=0)
    before = sorted(folder.iterdir()), (folder / "l").read_bytes()
    told = run("measure", "other", records, "-o", "m", "--ledger", "l", *option, status=2)
    assert "does not hold for discrete noise; write " in told.stderr
    option = re.search(r"write (\S+) for the same", told.stderr)[1]
    run("plan", spec, "-o", "r", "--budget", option, "-q", status=0)
    (folder / "r").unlink()
    (folder / "r.errors.csv").unlink()
    assert (sorted(folder.iterdir()), (folder / "l").read_bytes()) == before


def test_a_ledger_is_not_begun_with_a_budget_for_continuous_noise(run, folder):
    told = run("ledger", "l", "--create", "census", "--budget", "gdp=1/3", status=2)
    assert "write zcdp=1/18 for the same noise" in told.stderr
    assert not (folder / "l").exists()

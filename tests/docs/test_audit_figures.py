"""The figures of the audit on the page on how privacy is tested are those of its last run."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing-privacy.md").read_text()
FIGURES = json.loads((ROOT / "benchmarks" / "results" / "audit.json").read_text())


@pytest.mark.parametrize("found", FIGURES["audits"], ids=lambda found: found["what"])
def test_each_adversary_has_a_row_and_found_no_more_than_is_claimed(found):
    row = f"| {found['what']} | {found['claim']:.4f} | {found['mu']:.4f} ± {found['mu_error']:.4f} | "
    assert row + f"{found['epsilon_claim']:.3f} | {found['epsilon']:.3f} |\n" in PAGE
    assert found["right"]
    assert found["runs"] >= 10_000_000
    assert abs(found["mu"] - found["claim"]) <= 5 * found["mu_error"]
    assert found["epsilon"] <= found["epsilon_claim"]


@pytest.mark.parametrize("fault", FIGURES["planted"], ids=lambda fault: fault["what"])
def test_each_planted_fault_has_a_row_and_was_found(fault):
    assert f"| {fault['what']} | {fault['claim']:.4f} | {fault['mu']:.4f} ± {fault['mu_error']:.4f} |\n" in PAGE
    assert fault["right"]
    assert fault["mu"] > fault["claim"] + 5 * fault["mu_error"]

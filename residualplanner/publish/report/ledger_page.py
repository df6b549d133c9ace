"""The page on a ledger, for its curator: what was charged, what that adds up to, what is left.

Reads: Ledger.  Gives: an HTML file.
"""

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from residualplanner.gate.ledger import Ledger
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.file_kinds import LEDGER, kind_of_path
from residualplanner.ground.version import __version__
from residualplanner.ground.words import decimal_text_down, decimal_text_up, percent_text
from residualplanner.method.privacy import Neighbors, PrivacyClaim, claim_of_budget
from residualplanner.publish.report.html import html_of
from residualplanner.publish.report.pages import require_free_page
from residualplanner.publish.report.promises import DELTAS
from residualplanner.publish.report.words import column_rounded_up, publication_texts
from residualplanner.release.publication import Publication


def ledger_of(source: object) -> Ledger | None:
    """The ledger that a page is to be about, itself or in a file; None if it is about anything else.

    Raises:
        FileFormatError: the file is a damaged ledger.
    """
    if isinstance(source, Ledger):
        return source
    if not isinstance(source, str | os.PathLike):
        return None
    return Ledger.open(source) if kind_of_path(source) is LEDGER else None


def write_ledger_page(ledger: Ledger, page: Path, publication: Publication | None, *, replace: bool) -> None:
    """Write the page on a ledger; errors as of `write_report`."""
    require_free_page(page, replace=replace)
    text = ledger_page_of(ledger, publication or Publication())
    with write_atomically(page) as file:
        file.write(text.encode("utf-8"))


def ledger_page_of(ledger: Ledger, publication: Publication) -> str:
    """The page on a ledger as HTML."""
    neighbors = Neighbors(ledger.neighbors, ledger.records_per_person)
    claim = PrivacyClaim(ledger.spent, neighbors.words) if ledger.spent else None
    limit = None if ledger.budget is None else claim_of_budget(ledger.budget, neighbors, noise="discrete")
    return html_of(
        "ledger.html.jinja",
        title=publication.title or f"Privacy ledger of {ledger.data_set}",
        publication=publication_texts(publication),
        ledger=ledger,
        facts=_facts(ledger, neighbors),
        neighbors=neighbors.words,
        summary=claim.summary if claim else "",
        cautions={"budget": limit.caution if limit else "", "spent": claim.caution if claim else ""},
        epsilons=_epsilons(claim) if claim else [],
        entries=list(_entries(ledger)),
        version=__version__,
    )


def _facts(ledger: Ledger, neighbors: Neighbors) -> list[tuple[str, str, str]]:
    """The numbers at the top: what, how much, and a remark."""
    budget, balance = ledger.budget, ledger.balance
    if budget is None:
        limit = ("Budget", "unlimited", ledger.reason)
        rest = ("Left", "no limit", "")
    else:
        stated = claim_of_budget(budget, neighbors, noise="discrete").statement
        limit = ("Budget", stated, f"pcost {decimal_text_down(budget.pcost_exact)}")
        left = balance.told_remaining
        part = percent_text(float(left / budget.pcost_exact))
        rest = ("Left", balance.remaining_text, f"pcost {decimal_text_down(left)}, {part} of the budget")
    return [
        limit,
        ("Spent", balance.spent_text, f"pcost {decimal_text_up(balance.spent)}"),
        rest,
        ("Charges", f"{len(ledger.entries):,}", "one for each time that records were measured, or to be measured"),
    ]


def _epsilons(claim: PrivacyClaim) -> list[tuple[str, str]]:
    """Pairs of delta and the epsilon of all charges together."""
    found = claim.epsilons(DELTAS)
    texts = column_rounded_up([epsilon for _, epsilon in found])
    return [(delta, text) for (delta, _), text in zip(found, texts, strict=True)]


def _entries(ledger: Ledger) -> Iterator[tuple[Any, ...]]:
    """Of each charge its number, purpose, plan, cost, and the cost of all up to it."""
    total = Fraction(0)
    for entry in ledger.entries:
        total += entry.cost
        plan = entry.plan_sha256[:12] or "–"
        yield str(entry.sequence), entry.label, plan, decimal_text_up(entry.cost), decimal_text_up(total)

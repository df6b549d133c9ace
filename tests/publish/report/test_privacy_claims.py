"""What a report says of privacy is true of the noise that is drawn, whatever a folder says of it, hashes or not."""

import hashlib
import json
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dense
import residualplanner as rp
from exact_privacy import exact_delta
from html_pages import read_page
from made_releases import forge_hash, forge_rows
from residualplanner.publish.report.privacy import promise_of
from residualplanner.publish.report.subject import subject_of
from slowness import slow
from strategies import noise_of

pytestmark = pytest.mark.usefixtures("without_pictures")


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
    for number, source in enumerate((plan, tmp_path / "tables")):
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


@pytest.fixture
def exact_folder(marginals_plan, tmp_path):
    rp.reconstruct(rp.measure(marginals_plan, np.zeros((5, 4), dtype=np.int64))).save(tmp_path / "tables")
    return tmp_path / "tables"


def sentences(text):
    """A manifest or metadata whose sentence says that rho is a millionth."""
    return re.sub(r"rho = [0-9]+/[0-9]+ [(]<= [0-9.E-]+[)]", "rho = 1/1000000 (<= 0.000001)", text)


@pytest.mark.parametrize(
    "change",
    [
        lambda noise: noise.update(pcost="1/500000", guarantee=sentences(noise["guarantee"])),
        lambda noise: noise.update(guarantee="This release is perfectly private."),
        lambda noise: noise.update(neighbors="nothing"),
        lambda noise: noise.update(randomness="a die"),
        lambda noise: noise.update(kind="gaussian"),
        lambda noise: noise.update(precision="another rule"),
        lambda noise: noise.update(pcost="1/0"),
    ],
)
def test_a_manifest_whose_words_about_noise_are_not_true_of_the_plan_is_refused(exact_folder, change):
    path = exact_folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["noise"])
    path.write_text(json.dumps(manifest))
    with pytest.raises(rp.errors.FileFormatError, match=r"manifest\.json: what it says of the noise is not true"):
        subject_of(exact_folder, level=0.9)


def test_metadata_with_another_sentence_are_refused_though_their_hash_is_right(exact_folder):
    metadata = exact_folder / "metadata.json"
    metadata.write_text(sentences(metadata.read_text()))
    forge_hash(exact_folder, "metadata.json")
    with pytest.raises(rp.errors.FileFormatError, match=r"metadata\.json: its 'privacy' is not what follows"):
        subject_of(exact_folder, level=0.9)


def test_the_sentence_of_a_folder_is_the_exact_cost_of_its_plan(exact_folder, marginals_plan):
    precisions = {
        names: 1 / Fraction(math.nextafter(1 / noise, 0.0)) for names, noise in noise_of(marginals_plan).items()
    }
    rho = dense.exact_cost(marginals_plan.domain.sizes, precisions) / 2
    subject = subject_of(exact_folder, level=0.9)
    assert f"rho = {rho.numerator}/{rho.denominator} " in subject.tables.noise.sentence
    promise = promise_of(subject)
    shown = Fraction(re.search(r"rho at most ([0-9.E-]+) under", promise.sentence)[1])
    assert rho <= shown < rho * Fraction(100001, 100000)
    assert "/" not in promise.sentence + promise.statement


def test_margins_of_a_folder_are_those_of_its_plan_whatever_its_tables_say(release, tmp_path):
    release.save(tmp_path / "tables", "csv")
    table, index = (tmp_path / "tables" / name for name in ("tables/sex.csv", "index.csv"))
    frame = pd.read_csv(table)
    frame["std_err"] /= 1000
    frame.to_csv(table, index=False)
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    forge_rows(index, lambda rows: next(row for row in rows if row["name"] == "sex").update(sha256=digest))
    row = list(release).index(("sex",))
    mine, theirs = (subject_of(source, level=0.9).read_table(row) for source in (release, tmp_path / "tables"))
    assert theirs.margins == pytest.approx(mine.margins)

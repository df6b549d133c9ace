"""What a report shows of statistics and comparisons: words for values and titles, and what the numbers are."""

import re

import numpy as np
import pytest

import residualplanner as rp
from html_pages import read_page
from made_releases import any_release
from residualplanner.publish.pictures.plots import draw_intervals, shown_table
from residualplanner.publish.report import subject
from residualplanner.publish.report.estimates import rows_of_tables
from residualplanner.publish.report.statistics import statistics_of

VOTES = [(1, "Yes"), (2, "No (at all)"), (9, "Not known")]


def released(*more, **attributes):
    """Of proportions, and more, of attributes with titles and words for their values."""
    region = rp.Attribute("region", labels={"N": "North", "S": "South"}, about=rp.About(title="Region"))
    vote = rp.Attribute("vote", labels=dict(VOTES), about=rp.About(title="Voting intention"))
    domain = rp.Domain({"region": region, "vote": vote, **attributes})
    queries = [
        ["region"],
        ["region", "vote"],
        {"region": rp.Identity(), "vote": rp.Proportions()},
        *more,
    ]
    return any_release(rp.select(rp.Workload(domain, queries), budget=rp.zcdp("0.05")))


@pytest.fixture(scope="module")
def release():
    pay = rp.Attribute("pay", numeric=rp.Numeric(0, 100), about=rp.About(title="Salary", unit="dollars"))
    return released({"region": rp.Identity(), "pay": rp.Mean()}, pay=pay)


def subject_of(release):
    return subject.subject_of(release, level=0.9)


def test_no_table_stands_among_estimates_twice_where_an_order_has_statistics_alone():
    region, vote = rp.Attribute("region", 3), rp.Attribute("vote", 2)
    queries = [["region"], {"region": rp.Identity(), "vote": rp.Proportions()}]
    release = any_release(
        rp.select(rp.Workload(rp.Domain({"region": region, "vote": vote}), queries), budget=rp.zcdp(1))
    )
    assert rows_of_tables(subject_of(release)) == [0]


@pytest.fixture(scope="module")
def page(release, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    compared = {
        "less": rp.statistics.difference(release["region", "vote"], release["region",]),
        "part": rp.statistics.ratio(release["region", "vote"], release["region",], factor=100),
        "since": rp.statistics.change(release["region",], release["region",]),
    }
    release.save(folder / "out", "csv", comparisons=compared)
    rp.publish.write_report(folder / "out", folder / "page.html", level=0.9)
    return read_page(folder / "page.html")


def drawn(page, section):
    """The texts in each picture of a section."""
    return [[text.text for text in svg.all("text")] for svg in page.one("section", id=section).all("svg")]


def test_a_chart_of_a_statistic_says_what_its_numbers_are(page):
    shares, means = drawn(page, "statistics")
    assert "proportion of records" in shares
    assert "dollars" in means
    assert not {"records", "counts", "vote"} & {*shares, *means}


def test_charts_and_tables_show_both_the_code_and_the_word(page):
    shares, _ = drawn(page, "statistics")
    assert {f"{region} · {code} ({words})" for region in ("N (North)", "S (South)") for code, words in VOTES} <= {
        *shares
    }
    for section, columns in (("statistics", "Region Voting intention Proportion"), ("comparisons", "Region Voting")):
        table = page.one("section", id=section).all("table")[0]
        assert " ".join(head.text for head in table.one("thead").all("th")).startswith(columns)
        first = table.one("tbody").all("tr")[0]
        assert [first.one("th").text, first.all("td")[0].text] == ["N (North)", "1 (Yes)"]
    assert "S (South) · 9 (Not known)" in drawn(page, "comparisons")[0]


def test_headings_are_in_titles_throughout_and_every_table_has_one(page):
    for section in ("statistics", "comparisons"):
        found = page.one("section", id=section)
        assert len(found.all("h3")) == len(found.all("svg"))
    headings = [heading.text for heading in page.all("h3")]
    assert headings[:4] == [
        "Region",
        "Region × Voting intention",
        "Proportions of Voting intention by Region",
        "Mean Salary (dollars) by Region",
    ]


def test_the_axis_of_a_comparison_says_what_is_compared(page):
    for texts, words in zip(
        drawn(page, "comparisons"), ["difference in records", "ratio, times 100", "relative change"], strict=True
    ):
        assert words in texts


@pytest.mark.parametrize("make", [lambda made: made, lambda made: rp.rounded(rp.nonnegative(made))])
def test_heads_are_words_and_counts_have_the_digits_of_counts(make, without_pictures):
    made = make(released())
    (shares,) = statistics_of(subject_of(made))
    words = (
        *("Proportion", "Standard error", "90% from", "To", "Records", "Standard error of records"),
        *("All records of the group", "Standard error of all records of the group", "Too noisy to use"),
    )
    assert shares["head"] == ("Region", "Voting intention", *words)
    assert [meaning[0] for meaning in shares["meanings"]] == [*words]

    def decimals(*columns):
        return {len(row[column].partition(".")[2]) for row in shares["rows"] for column in columns}

    assert decimals(7, 9) == {1}
    assert decimals(6, 8) == ({0} if made.product.is_rounded else {1})


def test_proportions_of_integers_have_the_digits_of_their_errors(without_pictures):
    domain = rp.Domain({"region": ["N", "S"], "vote": ["yes", "no"]})
    plan = rp.select(rp.Workload(domain, [{"region": rp.Identity(), "vote": rp.Proportions()}]), budget=rp.zcdp(1))
    records = {("region", "vote"): np.array([[21, 229], [100, 50]])}
    made = rp.rounded(rp.nonnegative(rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))))
    (shares,) = statistics_of(subject_of(made))
    assert [float(row[2]) for row in shares["rows"]] == pytest.approx([0.084, 0.916, 0.667, 0.333], abs=0.02)


def test_a_mean_has_its_unit_in_its_head(release, without_pictures):
    _, means = statistics_of(subject_of(release))
    assert means["head"][:2] == ("Region", "Mean, dollars")
    assert "Sum, dollars" in means["head"]


def test_labels_are_not_broken_within_brackets():
    from residualplanner.publish.report.words import _environment

    unbroken = _environment().filters["unbroken"]
    for text in ("[10, 15)", "(0, inf)", "(Metropolitan)", "(No answer)"):
        assert f'<span class="unbroken">{text}</span>' in str(unbroken(f"a {text}"))
    assert re.sub("<[^>]*>", "", str(unbroken('(a <b> "c") [1, 2)'))) == "(a &lt;b&gt; &#34;c&#34;) [1, 2)"


@pytest.mark.parametrize(("width", "is_seen"), [(1e-3, False), (0.1, True)])
def test_a_legend_says_when_no_interval_can_be_seen(width, is_seen):
    estimate = np.array([0.2, 0.9, np.nan])
    shown = shown_table({"a": "xyz"}, estimate, None, ends=(estimate - width, estimate + width), level=0.9, unit="")
    (legend,) = draw_intervals(shown, labels=("90% interval", "")).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["estimate", "90% interval" if is_seen else "90% interval: too narrow to see"]


def test_long_labels_that_begin_alike_are_cut_so_that_they_differ():
    labels = tuple(f"In the household there is at least one person who {does} work" for does in ("does", "does not"))
    shown = shown_table({"work": labels}, np.array([1.0, 2.0]), np.array([0.1, 0.1]), level=0.9, unit="records")
    (axes,) = draw_intervals(shown, labels=("90%", "")).axes
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(texts)) == 2
    assert all(text.startswith("In the household") for text in texts)


def test_amounts_that_count_as_a_limit_are_said_where_their_means_are(tmp_path):
    pay = rp.Numeric(0, 300_000, unit=1000, outside="clip")
    made = released({"region": rp.Identity(), "pay": rp.Mean()}, pay=pay)
    said = "Amounts beyond the limits of 'pay' (0 to 300000) count as these limits in all numbers."
    assert said in made.noise.sentence
    rp.publish.write_report(made, tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert said in page.one("section", id="statistics").text
    assert "of amounts as they count" in page.one("section", id="statistics").text
    assert "beyond 0 to 300000: counted as the limit" in page.text
    made.save(tmp_path / "out", "csv")
    assert said in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    unlimited = released({"region": rp.Identity(), "pay": rp.Mean()}, pay=rp.Numeric(0, 300_000, unit=1000))
    assert "limit" not in unlimited.noise.sentence

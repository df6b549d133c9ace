"""Pages that are published with their tables: who publishes them, links, tables in the page."""

import json
from urllib.parse import unquote

import numpy as np
import pytest

import residualplanner as rp
from html_pages import read_page
from made_releases import any_release

pytestmark = pytest.mark.usefixtures("without_pictures")

ABOUT = rp.publish.Publication(
    title="Ages <2026>", author='"An" office', date="2026-11-22", contact="a@b.org", source="A&B"
)


@pytest.fixture(scope="module")
def release():
    """A release of few small tables, in place of that of the other files."""
    domain = rp.Domain({"age": rp.Bins([0, 18, 65, 120]), "sex": ["F", "M"], "region": 30})
    return any_release(rp.select(rp.marginals(domain, up_to=2), budget=rp.zcdp("0.5")))


def tables_in(page):
    return json.loads(page.one("script", id="cells-data").text)


@pytest.mark.slow
def test_title_author_date_contact_and_source_stand_on_top(release, tmp_path):
    release.save(tmp_path / "out", publication=ABOUT)
    rp.publish.write_report(tmp_path / "out", tmp_path / "report.html")
    page = read_page(tmp_path / "report.html")
    assert page.all("title")[0].text == page.one("h1").text == "Ages <2026>"
    about = page.all("dl")[0]
    words = zip(about.all("dt"), about.all("dd"), strict=True)
    assert {name.text.strip(): text.text for name, text in words} == {
        "Author": '"An" office', "Date": "2026-11-22", "Contact": "a@b.org", "Source": "A&B"
    }  # fmt: skip
    assert page.one("meta", name="author").attributes["content"] == '"An" office'
    other = rp.publish.Publication(title="Another")  # one that is given goes before that of the folder
    rp.publish.write_report(tmp_path / "out", tmp_path / "other.html", publication=other)
    assert read_page(tmp_path / "other.html").one("h1").text == "Another"
    assert "office" not in (tmp_path / "other.html").read_text()


def test_no_title_can_end_the_style_of_the_page(plan, tmp_path):
    title = 'x"; } </style><script>alert(1)</script> \\ \n @import'
    rp.publish.write_report(plan, tmp_path / "report.html", publication=rp.publish.Publication(title=title))
    page = read_page(tmp_path / "report.html")
    assert page.one("h1").text == title
    assert "@import" not in page.one("style").text
    assert "alert" not in page.one("style").text.replace("script\\3e alert\\28 1", "")


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["csv", "workbook", "parts"])
def test_the_name_of_every_table_leads_to_its_file(release, tmp_path, file_format):
    (tmp_path / "pages").mkdir()
    folder, path = tmp_path / "a folder #1", tmp_path / "pages" / "report.html"
    release.save(folder, file_format)
    rp.publish.write_report(folder, path)
    page = read_page(path)
    links = json.loads(page.one("script", id="data").text)["links"]
    files = [path.parent / unquote(link) for link in links]
    assert len(files) == len(release)
    assert all(file.resolve().is_relative_to(folder.resolve()) for file in files)
    assert all(file.is_file() for file in files)
    assert all(link.startswith("./../a%20folder%20%231/") for link in links)
    assert [each.attributes["href"] for each in page.one("details", id="files").all("a")] == links


@pytest.mark.slow
def test_a_known_number_of_records_is_never_called_an_estimate(tmp_path):
    plan = rp.select(rp.marginals(rp.Domain({"a": 3, "b": 2}), up_to=2), budget=rp.zcdp(1))
    known = rp.nonnegative(any_release(plan), known={(): 20_003})
    rp.rounded(known, base=5).save(tmp_path / "fives", "csv")
    known.save(tmp_path / "acs", "csv", profile="acs")
    rp.publish.write_report(tmp_path / "fives", tmp_path / "fives.html")
    rp.publish.write_report(tmp_path / "acs", tmp_path / "acs.html")
    pages = (read_page(tmp_path / name).all("dl")[0] for name in ("fives.html", "acs.html"))
    facts = [next(fact for fact in page.all("div") if "Records" in fact.text) for page in pages]
    assert [fact.one("dt").text for fact in facts] == ["Records (known)", "Records"]
    assert facts[0].one("strong").text == "20,003"
    assert "from elsewhere, as public; not protected; 20,005 in the tables" in facts[0].text
    rp.publish.write_report(tmp_path / "fives", tmp_path / "other.html", level=0.9)  # files have one level
    columns = [
        {each["key"] for each in tables_in(read_page(tmp_path / name))["columns"]}
        for name in ("fives.html", "other.html")
    ]
    assert columns[0] - columns[1] == {"low", "high"}


@pytest.mark.slow
def test_columns_of_tables_in_a_page_have_the_titles_of_their_attributes(tmp_path):
    age = rp.Attribute("age", 3, about=rp.About(title="Age at <admission>", unit="years"))
    plan = rp.select(rp.marginals(rp.Domain({"age": age, "sex": 2}), order=2), budget=rp.zcdp(1))
    rp.publish.write_report(rp.reconstruct(rp.measure(plan, np.zeros((9, 2), int))), tmp_path / "report.html")
    page = read_page(tmp_path / "report.html")
    table = page.one("table", id="cells")
    assert [head.text for head in table.all("th", scope="col")][:2] == ["Age at <admission>, years", "sex"]
    assert [head.text for head in table.one("tbody").all("tr")[1].all("th", scope="row")] == ["0", "1"]

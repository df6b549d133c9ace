"""The command reconstruct averages several measurements, and says what may be claimed for all of them."""

import pytest

import residualplanner as rp
from shell.specs import events


@pytest.fixture
def measured(run, spec, records, folder):
    run("plan", spec, "-o", "p", status=0)
    for name in ("pilot", "survey"):
        run("measure", "p", records, "-o", f"{name}.measurement", status=0)
    return [f"{name}.measurement" for name in ("pilot", "survey")]


@pytest.mark.parametrize("file_format", ["csv", "parts"])
def test_the_tables_are_those_of_reconstruct(run, measured, folder, file_format):
    run("reconstruct", *measured, "-o", "tables", "--format", file_format, status=0)
    expected = rp.reconstruct([rp.load_measurement(path) for path in measured])
    saved = rp.load_tables(folder / "tables")
    for query, table in expected.items():
        assert saved[query].estimate.tolist() == table.estimate.tolist()
    assert saved.noise.pcost == expected.noise.pcost


def test_it_says_what_may_be_claimed_for_all_and_names_every_file(run, measured, folder):
    rehearsal = run("reconstruct", *measured, "-o", "tables", "--dry-run", "--json")
    assert [event["path"] for event in events(rehearsal) if event["event"] == "would-read"] == measured
    assert not (folder / "tables").exists()
    words = " ".join(run("reconstruct", *measured, "-o", "tables").output.split())
    assert "2, averaged; This release satisfies rho-zCDP with rho = " in words
    assert "(<= 1) under adding or removing one record" in words
    assert "This covers 2 measurements of the records, whose costs add up." in words
    assert "averaged" not in run("reconstruct", measured[0], "-o", "one").output


def test_one_measurement_twice_and_a_plan_among_them_are_refused_and_nothing_is_written(run, measured, folder):
    for other, words in (
        (measured[0], "a measurement is there twice"),
        ("p", "p is a plan; reconstruct wants a measurement"),
    ):
        result = run("reconstruct", measured[0], other, "-o", "tables", status=2)
        assert words in " ".join(result.output.split())
    assert not (folder / "tables").exists()


@pytest.mark.slow
def test_the_report_of_the_folder_lists_the_measurements(run, measured, folder):
    run("reconstruct", *measured, "-o", "tables", status=0)
    run("report", "tables", "-o", "page.html", status=0)
    page = (folder / "page.html").read_text()
    assert "The measurements, whose costs add up to this promise" in page
    assert page.count("rho = 0.5<") == 2
    assert "averages of 2 measurements" in page
    assert "minimize the loss" not in page

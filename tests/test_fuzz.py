"""What is changed at random is read or refused as the library refuses; `benchmarks.fuzz` does it 100,000 times."""

from functools import cache

import pytest

from benchmarks.fuzz import Verdict, changed_files, counts_of, outcome_of, require_read
from benchmarks.fuzz_readers import READERS

CASES = 300


@cache
def good_files(reader):
    return reader.make()


@pytest.fixture(params=READERS, ids=lambda reader: reader.name)
def reader(request):
    return request.param


@pytest.mark.cases(2)
def test_no_changed_file_makes_a_reader_raise_a_foreign_error(reader):
    good, read = good_files(reader), 0
    for files in good:
        require_read(reader, files)
    cases = [changed_files(reader, good, number) for number in range(20)]
    assert cases == [changed_files(reader, good, number) for number in range(20)]
    assert any(case not in good for case in cases)
    for number in range(counts_of(CASES)[reader.name]):
        outcome = outcome_of(reader, changed_files(reader, good, number, seed=0), number)
        assert outcome.verdict is not Verdict.FOREIGN, f"case {number} of seed 0: {outcome.words}"
        read += outcome.verdict is Verdict.READ
    assert read < number  # that files are changed so that some are refused

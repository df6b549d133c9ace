"""The tests above would notice: a few planted faults here, all of them by ``sampler_faults``."""

import pytest
from sampler_faults import FAULTS, ROOT, SAMPLER, noticed_by, planted

SAMPLE = ("block bound at the wrong end", "alias <= for <")


def test_every_fault_still_has_its_place_in_the_source():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 100
    for fault in FAULTS:
        source = (ROOT / SAMPLER / fault.file).read_text()
        compile(planted(source, fault), fault.file, "exec")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_quick_tests_notice_a_planted_fault(name):
    (fault,) = [fault for fault in FAULTS if fault.name == name]
    assert noticed_by(fault).startswith("test_")


def test_a_fault_without_its_place_is_not_passed_over_in_silence():
    with pytest.raises(ValueError, match=r"the place for the fault 'SLACK = 0' occurs 0 times in attempts\.py"):
        planted("", next(fault for fault in FAULTS if fault.name == "SLACK = 0"))

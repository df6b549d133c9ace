"""Random bits: from the operating system only, checked, never kept; and test bits that anyone can tell from them."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from sampler_oracles import drawn_by_the_system, scales_of

import residualplanner as rp
from inner_parts import CheckedBits, InsecureTestBits, OperatingSystemBits, draw_flat, envelope


def raising(count):
    raise OSError("no entropy")


def not_there(count):
    raise NotImplementedError("no source of randomness")


def repeating_a_block(count):
    data = os.urandom(count)
    return data[:-32] + data[-64:-32]


FAULTS = {
    "raises": raising,
    "is missing": not_there,
    "is short": lambda count: os.urandom(count - 1),
    "is long": lambda count: os.urandom(count + 1),
    "is empty": lambda count: b"",
    "is None": lambda count: None,
    "is text": lambda count: "0" * count,
    "is zeros": bytes,
    "is ones": lambda count: b"\xff" * count,
    "repeats 4 bytes": lambda count: b"\x01\x02\x03\x04" * (count // 4),
    "repeats 32 bytes": lambda count: bytes(range(32)) * (count // 32),
    "repeats a block": repeating_a_block,
}


class Source:
    """Bytes from a function of their number."""

    def __init__(self, read):
        self.read = read


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("size", [1, 100_000])
def test_a_failing_source_ends_in_a_clean_error(fault, size):
    with pytest.raises(rp.errors.NoiseError, match="nothing may be released") as caught:
        draw_flat(scales_of([Fraction(5)]), [size], Source(fault))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert isinstance(caught.value, rp.errors.ResidualPlannerError)


def test_two_requests_are_compared_where_they_begin_and_where_they_meet():
    same = os.urandom(320)
    bits = CheckedBits(Source(lambda count: same[:count]))
    bits.read(320)
    with pytest.raises(rp.errors.NoiseError, match="repeats itself"):
        bits.read(128)
    blocks = iter([b"a" * 32 + b"b" * 32, b"b" * 32 + b"c" * 32])
    bits = CheckedBits(Source(lambda count: next(blocks)))
    assert bytes(bits.read(8)) == b"a" * 8
    with pytest.raises(rp.errors.NoiseError, match="repeats itself"):
        bits.read(8)


def test_blocks_that_only_resemble_each_other_pass():
    similar = Source(lambda count: b"".join(b"a" * 8 + bytes([number]) * 24 for number in range(count // 32)))
    assert len(CheckedBits(similar).read(320)) == 320


def test_bytes_are_asked_for_in_bulk_and_none_are_kept_for_the_next_call(monkeypatch):
    requests, system = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda count: (requests.append(count), system(count))[1])
    drawn_by_the_system([Fraction(10**6)], [1_000_000])
    assert max(requests) == 2**20
    assert sum(requests) < 1.1 * 8e6
    assert len(requests) < 40
    requests.clear()
    for _ in range(2):
        drawn_by_the_system([Fraction(1)], [1])
    assert len(requests) >= 2


def test_threads_that_draw_at_once_do_not_disturb_each_other():
    scales = scales_of([Fraction(3, 7), Fraction(10**7), Fraction(10**20, 3)])
    sizes = [20_000, 20_000, 20_000]
    alone = [draw_flat(scales, sizes, InsecureTestBits(seed)) for seed in range(8)]
    envelope.envelope.cache_clear()
    envelope.shelf.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: draw_flat(scales, sizes, InsecureTestBits(seed)), range(8)))
    np.testing.assert_array_equal(alone, together)


def test_test_bits_say_what_they_are_and_are_the_same_however_they_are_asked_for():
    whole = InsecureTestBits(7).read(200_000)
    parts = InsecureTestBits(7)
    assert b"".join(parts.read(size) for size in (1, 31, 65_536, 100_000, 34_432)) == whole
    assert whole[:65_536] == hashlib.shake_256(b"7:0").digest(65_536)
    assert whole[65_536:131_072] == hashlib.shake_256(b"7:1").digest(65_536)
    assert InsecureTestBits(8).read(32) != whole[:32]
    assert OperatingSystemBits.is_secure
    assert OperatingSystemBits.mark == "os.urandom"
    assert not InsecureTestBits(1).is_secure
    assert "not private" in InsecureTestBits(1).mark


def test_whole_numbers_use_all_their_bits_and_no_others():
    bits = CheckedBits(InsecureTestBits(3))
    for width in (1, 3, 8, 61, 64, 65, 500):
        seen = [bits.integer(width) for _ in range(200)]
        every = 0
        for value in seen:
            every |= value
        assert every == 2**width - 1
        assert max(seen) < 2**width

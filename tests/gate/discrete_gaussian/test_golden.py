"""Known bytes give known integers, on every platform and with every version of NumPy."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from sampler_oracles import drawn, scales_of

import residualplanner as rp
from inner_parts import InsecureTestBits, draw_flat, drawing

SCALES = {
    "one": Fraction(1),
    "a thousandth": Fraction(1, 10**6),
    "not whole": Fraction(17, 2),
    "medium": Fraction(10**6 * 3 + 1, 3),
    "large": Fraction(10**18 * 3 + 1, 3),
    "long fractions": Fraction(3**4000 + 1, 3**3990),
    "the largest of int64": Fraction(2**110 - 1),
}
GOLDEN = {
    "one": "2fbd9d89bb97309e12026e1071b93c06",
    "a thousandth": "3d00ed86b663cd1b8ac82b105257cd10",
    "not whole": "b0ee700199d6aaf07827d31115cca591",
    "medium": "7d26ea997020d121cb29ba996f179255",
    "large": "9e9c2d40457f101adb56b92086170fa3",
    "long fractions": "a5be53eef9d777b992366bd3de67997d",
    "the largest of int64": "3f91e32258717218320ef2377ee28a62",
    "many scales": "0bb1d0fe638cf690f4a46566f007ce78",
    "python integers": "2815820de9b1868d2d3499ca0c69a08f",
    "python integers beside others": "2ca703a30b125d4039a07b8ebb147ae4",
}


def digest(values) -> str:
    return hashlib.sha256(b"".join(int(value).to_bytes(32, "little", signed=True) for value in values)).hexdigest()[:32]


@pytest.mark.parametrize("name", SCALES)
def test_known_bytes_give_the_known_draws_of_one_scale(name):
    with np.errstate(all="raise"):  # which changes nothing
        assert digest(drawn(SCALES[name], 20_000, 2024)) == GOLDEN[name]


def test_known_bytes_give_the_known_draws_of_many_scales_and_of_python_integers():
    sizes = [1000 * (number + 1) for number in range(len(SCALES))]
    values = draw_flat(scales_of(list(SCALES.values())), sizes, InsecureTestBits(2025))
    assert digest(values) == GOLDEN["many scales"]
    values = draw_flat(scales_of([Fraction(10**50, 7), Fraction(9)]), [1000, 1000], InsecureTestBits(2026))
    assert digest(values) == GOLDEN["python integers beside others"]
    assert digest(drawn(Fraction(10**50, 7), 1000, 2024)) == GOLDEN["python integers"]


@pytest.fixture
def untested_platform():
    drawing.require_sound_platform.cache_clear()
    yield
    drawing.require_sound_platform.cache_clear()


def test_a_bad_exponential_is_noticed_before_the_first_draw(untested_platform, monkeypatch):
    true_exp = np.exp
    monkeypatch.setattr(np, "exp", lambda x, **kwargs: true_exp(x, **kwargs) * (1 + 2.0**-43))
    with pytest.raises(rp.errors.NoiseError, match=r"numpy\.exp errs by more than 2"):
        drawn(Fraction(1), 1, 0)


def test_wrong_draws_from_known_bytes_are_noticed_before_the_first_draw(untested_platform, monkeypatch):
    monkeypatch.setattr(drawing, "InsecureTestBits", lambda seed: InsecureTestBits(seed + 1))
    with pytest.raises(rp.errors.NoiseError, match="known random bytes do not give the known draws"):
        drawn(Fraction(1), 1, 0)


def test_the_exponential_here_is_far_better_than_assumed():
    assert drawing.largest_exp_error() < Fraction(1, 2**51)
    points = -np.linspace(0, 64, 777)
    worst = max(abs(value / math.exp(point) - 1) for point, value in zip(points.tolist(), np.exp(points), strict=True))
    assert worst < 2**-51

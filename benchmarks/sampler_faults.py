"""Plant faults in the sampler, one at a time, and see whether the quick tests notice.

    python -m benchmarks.sampler_faults [WORDS OF ITS NAME]

Each fault is a small change to a copy of the source.  The tests run on it are the exact and forced ones: tables,
attempts, scales, tails, bits.  Chi-square tests and golden vectors take no part, and the self-test that compares a
golden vector is switched off in the copy, except for faults that sit in it: a test of any change at all proves little.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "gate" / "discrete_gaussian"
SAMPLER = Path("residualplanner/gate/discrete_gaussian")
QUICK = ("test_tables.py", "test_attempts.py", "test_scales.py", "test_tails.py", "test_bits.py")
GOLDEN = ("test_golden.py",)


class Fault(NamedTuple):
    """A change of one place in the source."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = QUICK


_BY_FILE = {
    "envelope.py": [
        # the scales, and the law
        ("variance 1 percent low", "-0.5 / ratios", "-0.505 / ratios"),
        ("variance 1e-6 low", "-0.5 / ratios", "-0.5000005 / ratios"),
        ("kappa wrong by 2", "-0.5 / ratios", "-1.0 / ratios"),
        ("steps decided by rounded ratios", "numerators[number] * under > denominators[number] * over", "0"),
        ("steps always one up on a tie", "numerators[number] * under > denominators[number] * over", "1"),
        ("a step too small", 'ratios, side="left")', "ratios).clip(1) - 1"),
        ("more numbers in a block than bits", "LONGEST_BLOCK = 49", "LONGEST_BLOCK = 50"),
        ("large exponents wrong by 4", "(m - LONGEST_BLOCK)) /", "(m - LONGEST_BLOCK + 1)) /"),
        ("tiny scales let through", "SMALLEST_EXPONENT = -60", "SMALLEST_EXPONENT = -61"),
        ("zero let through", "if not numerators[number] <<", "if numerators[number] < 0 and not numerators[number] <<"),
        ("large level one doubling low", ".bit_length() - 6\n", ".bit_length() - 7\n"),
        # the heights of blocks and tails
        ("block bound at the wrong end", "max(q, -q - 1) for q", "max(q + 1, -q) for q"),
        ("negative blocks bounded by |q|", "else max(q, -q - 1) for q", "else abs(q) for q"),
        ("single integers bounded as blocks", "[abs(q) if table", "[max(q, -q - 1) if table"),
        ("weight not rounded up", "[math.ceil(scale * height)", "[max(math.floor(scale * height), 1)"),
        ("3 digits for the heights", "_DIGITS = 25", "_DIGITS = 3"),
        ("radius one step too small", "return RADII[step] *", "return (RADII[step] - 4) *"),
        ("the lowest table a bit too narrow", "return Fraction(1, 4)", "return Fraction(1, 5)"),
        ("tails half as heavy", "(2 << TAIL_CHUNK_BITS)", "(1 << TAIL_CHUNK_BITS)"),
        ("one tail left out of the weights", "whole[-1], whole[-1]]", "whole[-1], 0]"),
        ("tables reach half as far", "int(_WIDTHS * 64", "int(_WIDTHS * 32"),
        ("ratio of the neighboring cell", "in weights[: 2 * reach]]", "in [weights[0], *weights[: 2 * reach - 1]]]"),
        ("blocks numbered one off", "([*range(-reach, reach), 0, 0, 0])", "([*range(1 - reach, reach + 1), 0, 0, 0])"),
        ("try again counts as block 0", "[np.nan, np.nan, -1]", "[np.nan, np.nan, 1e9]"),
        ("tails never attempted", "[np.nan, np.nan, -1]", "[-1.0, -1.0, -1.0]"),
        ("shelf order mixed up", "(tables)] = np.arange(len(tables))", "(tables)] = np.arange(len(tables))[::-1]"),
        # the alias table
        ("exponential not stepped down", "low = context.next_minus(low) if", "low = low if"),
        ("exponential not stepped up", "high = context.next_plus(high) if", "high = high if"),
        (
            "exponent rounded the same way for both bounds",
            "(digits, decimal.ROUND_CEILING)",
            "(digits, decimal.ROUND_FLOOR)",
        ),
        ("minus sign rounds in the caller's context", "context.exp(most.copy_negate())", "context.exp(-most)"),
        ("the caller's context rounds the heights", "context.exp(least.copy_negate())", "context.exp(-least)"),
        ("alias table loses a unit", "] -= capacity - left[column]", "] -= capacity - left[column] + (column == 7)"),
        ("weights not counted again", "alias[column] = left[column],", "alias[column] = left[column] ^ (column == 7),"),
    ],
    "attempts.py": [  # proposals: words into places, decisions by floats, then exactly
        ("kappa wrong by 2 in exact decisions", "2 * numerator)", "numerator)"),
        ("i as float32", "values.astype(np.float64)", "values.astype(np.float32).astype(np.float64)"),
        ("i as int32", "values = shelf.blocks[picks]", "values = shelf.blocks[picks].astype(np.int32)"),
        ("absolute value instead of square", "gap *= gap", "np.abs(gap, out=gap)"),
        ("symmetry forced: negative blocks one off", "values += place", "values -= -1 * (values < 0) - place"),
        ("alias <= for <", "is_alias = head >= shelf", "is_alias = head > shelf"),
        ("alias ignored", "picks += is_alias", "picks += 0 * is_alias"),
        ("U from the word's column bits", "(words & UNIFORM_MASK).view", "(words >> np.uint64(43)).view"),
        ("offset overlaps the alias bits", "np.uint64(UNIFORM_BITS)", "np.uint64(UNIFORM_BITS + 3)"),
        ("offset overlaps U", "np.uint64(UNIFORM_BITS)", "np.uint64(UNIFORM_BITS - 3)"),
        ("offset one bit short", "place >>= width - block_bits", "place >>= width - block_bits + (block_bits > 0)"),
        ("extension bits dropped", "offset |= extras", "offset |= extras & np.uint32(0)"),
        ("extension bits signed", "|= extras", "|= extras.view(np.int32).astype(np.int64).view(np.uint64)"),
        ("bytes in the other order", 'dtype="<u8"', 'dtype=">u8"'),
        ("extensions overlap the words", "offset=8 * count", "offset=4 * count, count=4 * count"),
        ("floats decide everything", "SLACK = 2.0**-15", "SLACK = -0.5"),
        ("SLACK = 0", "SLACK = 2.0**-15", "SLACK = 0.0"),
        ("accepts only if p - U > 1e-3", "= gap > 1 + SLACK", "= gap > 2000 + SLACK\n    gap[(gap > 1) & ~kept] = -1"),
        ("accepts where U is just above", "kept = gap > 1 + SLACK", "kept = gap > SLACK"),
        ("rejects where U is just below", "(gap < -SLACK)", "(gap < 1 - SLACK)"),
        ("p = 0 is rejected at once", "(gap < -SLACK)", "(gap <= 0)"),
        ("NaN counts as rejected", "~(kept | (gap < -SLACK))", "(gap <= 1 + SLACK) & (gap >= -SLACK)"),
        ("exact path always accepts", "is_below(uniform, UNIFORM_BITS, exponent, ratio, bits)", "True"),
        ("exact path always rejects", "is_below(uniform, UNIFORM_BITS, exponent, ratio, bits)", "False"),
        ("tail factor 2**j forgotten", "factor = 2 << TAIL_CHUNK_BITS + chunk", "factor = 2 << TAIL_CHUNK_BITS"),
        ("left tail overlaps", "else -value - 1", "else -value"),
        ("left tail not mirrored", "value = value if cell == envelope.right_tail else -value - 1", "value = value"),
        ("tail begins one block late", "(envelope.reach << block_bits)", "(envelope.reach + 1 << block_bits)"),
        # exact decisions and tails
        ("exact path accepts on a tie of digits", "if low >= right:", "if low > left:"),
        ("exact path rejects on a tie of digits", "if high <= left:", "if low < right:"),
        ("further bits replace the first", "uniform << MORE_BITS | bits", "bits"),
        ("length of U not counted up", "length += MORE_BITS", "length += MORE_BITS - 1"),
        ("bits drawn before they are needed", "if low > left and high < right:", "if True:"),
        ("no more digits", "digits += MORE_DIGITS", "digits += 0"),
        ("tiny probabilities taken for zero", "low, high = Fraction(1", "return False  # "),
        ("chunks overlap", "return (chunk << width) +", "return (chunk << width - 1) +"),
        ("chunks of half the width", "bits.integer(width), chunk", "bits.integer(width - 1), chunk"),
        ("a coin too many", "(word & -word).bit_length() - 1", "(word & -word).bit_length()"),
        ("64 tails in a row start over", "chunk += MORE_BITS\n", "chunk += 0\n"),
    ],
    "batches.py": [  # vectors of many scales
        (
            "extension used although blocks are short",
            "(block_bits - attempts.OFFSET_BITS)",
            "(block_bits - 2 * attempts.OFFSET_BITS)",
        ),
        ("same words used for each vector", "words[part], None if", "words[: part.stop - part.start], None if"),
        ("rejected proposals kept", "left = self._pass(_vectors_of(left), bits)", "left = []"),
        ("last rejected proposal kept", "np.flatnonzero(~proposals.kept)", "np.flatnonzero(~proposals.kept)[:-1]"),
        ("second attempts written elsewhere", "where = numbers + self.where.start if", "where = numbers if"),
        ("second attempts at the first scale", "scale = self.scale[numbers]", "scale = self.scale[: numbers.size]"),
        ("scales one off in a mixed vector", "(first, last + 1), counts)", "(first, last + 1), counts[::-1])"),
        ("first scale for a vector that ends in the second", "[start, stop - 1]", "[start, start]"),
        ("exact keeps are not marked", "proposals.kept[number] = True", "pass"),
        (
            "huge draws wrap",
            "if found in _INT64 and not self._surplus[at]:",
            "if True:\n                found = (found + 2**63) % 2**64 - 2**63",
        ),
        ("exact decisions use the wrong scale", "at = int(scale_of[number])", "at = int(scale_of[0])"),
        # Python integers
        ("large places lose their lowest bits", "int.from_bytes(low.", "0 * int.from_bytes(low."),
        ("large blocks twice as long", "(value << surplus)", "(value << surplus + 1)"),
        ("lowest bits of other attempts", ":] = low\n", ":] = low[::-1]\n"),
        ("large exact values forgotten", "values[position] = value\n", "pass\n"),
    ],
    "bits.py": [  # the bits
        ("length not checked", "or len(data) != wanted", ""),
        ("repeats not checked within a request", " or repeats:", ":"),
        ("repeats not checked between requests", "data[:BLOCK_BYTES] in self._seen or ", ""),
        ("short requests cannot be compared", "// BLOCK_BYTES), 2)", "// BLOCK_BYTES), 1)"),
        (
            "bits from a fixed stream",
            "return os.urandom(count)",
            "import hashlib\n        return hashlib.shake_256(b'x').digest(count)",
        ),
        ("bits from NumPy", "return os.urandom(count)", "import numpy\n        return numpy.random.bytes(count)"),
        (
            "bits kept for the next call",
            "return os.urandom(count)",
            "kept = globals().setdefault('_kept', bytearray())\n"
            "        kept += os.urandom(count + 4096)\n"
            "        data = bytes(kept[:count])\n"
            "        del kept[:count]\n"
            "        return data",
        ),
        ("errors carry their context", 'data = b""', "raise NoiseError('did not; nothing may be released') from None"),
        ("top bit of short numbers always 0", "((1 << bits) - 1)", "((1 << bits - 1) - 1)"),
    ],
}
#: Those that only golden vectors and the self-test can see.
_BY_FILE_GOLDEN = {
    "drawing.py": [
        ("exponential not looked at", "if not largest_exp_error() <= EXP_ERROR:", "if False:"),
        ("golden vector not looked at", "if golden_digest() != _GOLDEN:", "if False:"),
        ("self-test never run", 'scale")\n    require_sound_platform()\n', 'scale")\n'),
    ],
    "batches.py": [
        ("NumPy's error settings are obeyed", 'np.errstate(all="ignore"):  # exp', "np.errstate():  # exp"),
    ],
}
FAULTS = [
    Fault(name, file, old, new, tests)
    for tests, by_file in ((QUICK, _BY_FILE), (GOLDEN, _BY_FILE_GOLDEN))
    for file, faults in by_file.items()
    for name, old, new in faults
]


def planted(source: str, fault: Fault) -> str:
    """Return the source with the fault in it."""
    if source.count(fault.old) != 1:
        raise ValueError(
            f"the place for the fault {fault.name!r} occurs {source.count(fault.old)} times in {fault.file}"
        )
    return source.replace(fault.old, fault.new)


def noticed_by(fault: Fault | None) -> str:
    """Plant a fault in a copy, and say which of the quick tests noticed it first; None plants nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy, ignore = Path(folder), shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "residualplanner", copy / "residualplanner", ignore=ignore)
        shutil.copytree(TESTS, copy / "tests", ignore=ignore)
        for name in ("conftest.py", "inner_parts.py"):
            shutil.copy(ROOT / "tests" / name, copy / "tests")
        tests = fault.tests if fault else QUICK
        no_golden = Fault("", "drawing.py", "if golden_digest() != _GOLDEN:", "if False:")
        for each in filter(None, (fault, no_golden if tests == QUICK else None)):
            file = copy / SAMPLER / each.file
            file.write_text(planted(file.read_text(), each))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-c", os.devnull, "--rootdir", folder]
        command += ["-p", "no:cacheprovider", "-W", "ignore", *(str(copy / "tests" / name) for name in tests)]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        options = {"capture_output": True, "text": True, "timeout": 120}
        try:
            done = subprocess.run(command, cwd=copy, env=environment, check=False, **options)
        except subprocess.TimeoutExpired:
            return "no test ended"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode not in (0, 1, 2) or (done.returncode and not lines):
        return f"pytest ended with {done.returncode}"
    return lines[0].split("::")[-1].split(" - ")[0] if lines else ""


def main() -> None:
    if words := noticed_by(None):
        raise SystemExit(f"the tests fail without any fault: {words}")
    found = {}
    for fault in (fault for fault in FAULTS if " ".join(sys.argv[1:]) in fault.name):
        found[fault.name] = noticed_by(fault)
        print(f"{fault.name:<55} {found[fault.name] or 'SURVIVED'}", flush=True)
    print(f"{sum(map(bool, found.values()))} of {len(found)} faults noticed")
    sys.exit(not all(found.values()))


if __name__ == "__main__":
    main()

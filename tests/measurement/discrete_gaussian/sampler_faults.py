"""Plant faults in the sampler, one at a time, and see whether the quick tests notice.

    python -m tests.measurement.discrete_gaussian.sampler_faults [--only WORDS]

Each fault is a small change to a copy of the source.  The tests run on it are the exact and forced ones: tables,
attempts, scales, tails, bits.  Chi-square tests and golden vectors take no part, and the self-test that compares a
golden vector is switched off in the copy, except for faults that sit in it: a test of any change at all proves little.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SAMPLER = Path("residualplanner/discrete_gaussian")
QUICK = ("test_tables.py", "test_attempts.py", "test_scales.py", "test_tails.py", "test_bits.py")
GOLDEN = ("test_golden.py",)
#: The tests most likely to notice a fault in a file.
FIRST = {"bits.py": "test_bits.py", "exact.py": "test_tails.py", "scales.py": "test_scales.py"}


class Fault(NamedTuple):
    """A change of one place in the source."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = QUICK


FAULTS = [
    # the law
    Fault("variance 1 percent low", "scales.py", "-0.5 / ratios", "-0.505 / ratios"),
    Fault("variance 1e-6 low", "scales.py", "-0.5 / ratios", "-0.5000005 / ratios"),
    Fault("kappa wrong by 2", "scales.py", "-0.5 / ratios", "-1.0 / ratios"),
    Fault("kappa wrong by 2 in exact decisions", "attempts.py", "2 * attempt.numerator)", "attempt.numerator)"),
    Fault("i as float32", "attempts.py", "values.astype(np.float64)", "values.astype(np.float32).astype(np.float64)"),
    Fault("i as int32", "attempts.py", "values = shelf.blocks[picks]", "values = shelf.blocks[picks].astype(np.int32)"),
    Fault(
        "absolute value instead of square",
        "attempts.py",
        "probability *= probability",
        "np.abs(probability, out=probability)",
    ),
    Fault(
        "symmetry forced: negative blocks one off",
        "attempts.py",
        "values += offsets(",
        "values -= -1 * (values < 0) - offsets(",
    ),
    # envelope
    Fault(
        "block bound at the wrong end",
        "envelope.py",
        "return block if block >= 0 else -block - 1",
        "return block + 1 if block >= 0 else -block",
    ),
    Fault(
        "negative blocks bounded by |q|",
        "envelope.py",
        "return block if block >= 0 else -block - 1",
        "return abs(block)",
    ),
    Fault(
        "single integers bounded as blocks",
        "envelope.py",
        "return abs(block)  #",
        "return block if block >= 0 else -block - 1  #",
    ),
    Fault("weight not rounded up", "envelope.py", "[math.ceil(scale * height)", "[max(math.floor(scale * height), 1)"),
    Fault("3 digits for the heights", "envelope.py", "_DIGITS = 25", "_DIGITS = 3"),
    Fault("radius one step too small", "envelope.py", "return RADII[step] *", "return (RADII[step] - 4) *"),
    Fault("the lowest table a bit too narrow", "envelope.py", "return Fraction(1, 4)", "return Fraction(1, 5)"),
    Fault("tails half as heavy", "envelope.py", "(2 << TAIL_CHUNK_BITS)", "(1 << TAIL_CHUNK_BITS)"),
    Fault("one tail left out of the weights", "envelope.py", "whole[-1], whole[-1]]", "whole[-1], 0]"),
    Fault("tables reach half as far", "envelope.py", "int(_WIDTHS * 64", "int(_WIDTHS * 32"),
    Fault(
        "ratio of the neighboring cell",
        "envelope.py",
        "for weight in weights[:block_count]]",
        "for weight in [weights[0], *weights[: block_count - 1]]]",
    ),
    Fault(
        "blocks numbered one off",
        "envelope.py",
        "np.array([*range(-reach, reach), 0, 0, 0])",
        "np.array([*range(1 - reach, reach + 1), 0, 0, 0])",
    ),
    Fault("try again counts as block 0", "envelope.py", "[np.nan, np.nan, -1.0]", "[np.nan, np.nan, 1e9]"),
    Fault("tails never attempted", "envelope.py", "[np.nan, np.nan, -1.0]", "[-1.0, -1.0, -1.0]"),
    Fault(
        "shelf order mixed up",
        "envelope.py",
        "index[list(tables)] = np.arange(len(tables))",
        "index[list(tables)] = np.arange(len(tables))[::-1]",
    ),
    # alias table
    Fault("alias <= for <", "attempts.py", "is_alias = head >= shelf", "is_alias = head > shelf"),
    Fault("alias ignored", "attempts.py", "column += is_alias", "column += 0 * is_alias"),
    Fault(
        "alias table loses a unit",
        "alias.py",
        "left[donor] -= capacity - left[column]",
        "left[donor] -= capacity - left[column] + (column == 7)",
    ),
    Fault(
        "weights not counted again",
        "alias.py",
        "threshold[column], alias[column] = left[column], donor\n",
        "threshold[column], alias[column] = left[column] ^ (column == 7), donor\n",
    ),
    # bits of a word
    Fault(
        "U from the word's column bits", "attempts.py", "(words & _UNIFORM_MASK).view", "(words >> np.uint64(43)).view"
    ),
    Fault(
        "offset overlaps the alias bits",
        "attempts.py",
        "offset = words >> np.uint64(UNIFORM_BITS)",
        "offset = words >> np.uint64(UNIFORM_BITS + 3)",
    ),
    Fault(
        "offset overlaps U",
        "attempts.py",
        "offset = words >> np.uint64(UNIFORM_BITS)",
        "offset = words >> np.uint64(UNIFORM_BITS - 3)",
    ),
    Fault(
        "offset one bit short",
        "attempts.py",
        "result >>= width - block_bits",
        "result >>= width - block_bits + (block_bits > 0)",
    ),
    Fault("extension bits dropped", "attempts.py", "offset |= extras", "offset |= extras & np.uint32(0)"),
    Fault(
        "extension bits signed",
        "attempts.py",
        "offset |= extras",
        "offset |= extras.view(np.int32).astype(np.int64).view(np.uint64)",
    ),
    Fault(
        "extension used although blocks are short",
        "batches.py",
        "> OFFSET_BITS for slots",
        "> 2 * OFFSET_BITS for slots",
    ),
    Fault("bytes in the other order", "attempts.py", 'dtype="<u8"', 'dtype=">u8"'),
    Fault("extensions overlap the words", "attempts.py", "offset=8 * count", "offset=4 * count, count=count"),
    Fault(
        "same words used for each vector", "batches.py", "words[start:stop], None if", "words[: stop - start], None if"
    ),
    # decisions by floats
    Fault("floats decide everything", "attempts.py", "SLACK = 2.0**-15", "SLACK = -0.5"),
    Fault("SLACK = 0", "attempts.py", "SLACK = 2.0**-15", "SLACK = 0.0"),
    Fault(
        "accepts only if p - U > 1e-3",
        "attempts.py",
        "kept = gap > 1 + SLACK",
        "kept = gap > 2000 + SLACK\n    gap[(gap > 1) & ~kept] = -1",
    ),
    Fault("accepts where U is just above", "attempts.py", "kept = gap > 1 + SLACK", "kept = gap > SLACK"),
    Fault("rejects where U is just below", "attempts.py", "(gap < -SLACK)", "(gap < 1 - SLACK)"),
    Fault("p = 0 is rejected at once", "attempts.py", "(gap < -SLACK)", "(gap <= 0)"),
    Fault(
        "NaN counts as rejected",
        "attempts.py",
        "undecided = ~(kept | (gap < -SLACK))",
        "undecided = (gap <= 1 + SLACK) & (gap >= -SLACK)",
    ),
    # exact decisions
    Fault(
        "exact path always accepts",
        "attempts.py",
        "return value if is_below(attempt.uniform, UNIFORM_BITS, exponent, ratio, bits) else None",
        "return value",
    ),
    Fault(
        "exact path always rejects",
        "attempts.py",
        "return value if is_below(attempt.uniform, UNIFORM_BITS, exponent, ratio, bits) else None",
        "return None",
    ),
    Fault("exact keeps are not marked", "attempts.py", "proposals.kept[index] = True", "pass"),
    Fault("exact path accepts on a tie of digits", "exact.py", "if low >= right:", "if low > left:"),
    Fault("exact path rejects on a tie of digits", "exact.py", "if high <= left:", "if low < right:"),
    Fault("further bits replace the first", "exact.py", "uniform << MORE_BITS | bits", "bits"),
    Fault("length of U not counted up", "exact.py", "length += MORE_BITS", "length += MORE_BITS - 1"),
    Fault("bits drawn before they are needed", "exact.py", "if low > left and high < right:", "if True:"),
    Fault("no more digits", "exact.py", "digits += MORE_DIGITS", "digits += 0"),
    Fault(
        "tiny probabilities taken for zero",
        "exact.py",
        "low, high = Fraction(1, 1 << length + 1), Fraction(1, 1 << length + 1)",
        "return False",
    ),
    Fault("exponential not stepped down", "exact.py", "low = context.next_minus(low) if", "low = low if"),
    Fault("exponential not stepped up", "exact.py", "high = context.next_plus(high) if", "high = high if"),
    Fault(
        "exponent rounded the same way for both bounds",
        "exact.py",
        "_context(digits, ROUND_CEILING)",
        "_context(digits, ROUND_FLOOR)",
    ),
    Fault(
        "minus sign rounds in the caller's context", "exact.py", "context.exp(most.copy_negate())", "context.exp(-most)"
    ),
    Fault(
        "the caller's context rounds the heights", "exact.py", "context.exp(least.copy_negate())", "context.exp(-least)"
    ),
    # tails
    Fault(
        "tail factor 2**j forgotten",
        "attempts.py",
        "factor = 2 << TAIL_CHUNK_BITS + chunk",
        "factor = 2 << TAIL_CHUNK_BITS",
    ),
    Fault("left tail overlaps", "attempts.py", "else -value - 1", "else -value"),
    Fault(
        "left tail not mirrored",
        "attempts.py",
        "value = value if cell == envelope.right_tail else -value - 1",
        "value = value",
    ),
    Fault(
        "tail begins one block late",
        "attempts.py",
        "value = (envelope.reach << attempt",
        "value = (envelope.reach + 1 << attempt",
    ),
    Fault("chunks overlap", "exact.py", "return (chunk << width) +", "return (chunk << width - 1) +"),
    Fault("chunks of half the width", "exact.py", "bits.integer(width), chunk", "bits.integer(width - 1), chunk"),
    Fault("a coin too many", "exact.py", "(word & -word).bit_length() - 1", "(word & -word).bit_length()"),
    Fault("64 tails in a row start over", "exact.py", "chunk += MORE_BITS\n", "chunk += 0\n"),
    # batches
    Fault("rejected proposals kept", "batches.py", "left = self._pass(_vectors_of(left), bits)", "left = []"),
    Fault(
        "last rejected proposal kept",
        "batches.py",
        "np.flatnonzero(~proposals.kept)",
        "np.flatnonzero(~proposals.kept)[:-1]",
    ),
    Fault(
        "second attempts written elsewhere", "batches.py", "where = numbers + self.where.start if", "where = numbers if"
    ),
    Fault(
        "second attempts at the first scale",
        "batches.py",
        "scale = self.scale[numbers] if",
        "scale = self.scale[: numbers.size] if",
    ),
    Fault(
        "scales one off in a mixed vector",
        "batches.py",
        "np.repeat(np.arange(first, last + 1), counts)",
        "np.repeat(np.arange(first, last + 1), counts[::-1])",
    ),
    Fault("first scale for a vector that ends in the second", "batches.py", "[start, stop - 1]", "[start, start]"),
    Fault(
        "huge draws wrap",
        "batches.py",
        "if value in _INT64:",
        "if True:\n                value = (value + 2**63) % 2**64 - 2**63",
    ),
    Fault(
        "exact decisions use the wrong scale", "batches.py", "scale = int(scale_of[number])", "scale = int(scale_of[0])"
    ),
    # scales
    Fault(
        "steps decided by rounded ratios",
        "scales.py",
        "steps[number] += numerators[number] * under > denominators[number] * over",
        "pass",
    ),
    Fault(
        "steps always one up on a tie",
        "scales.py",
        "steps[number] += numerators[number] * under > denominators[number] * over",
        "steps[number] += 1",
    ),
    Fault(
        "a step too small",
        "scales.py",
        'np.searchsorted(_SQUARES, ratios, side="left")',
        'np.maximum(np.searchsorted(_SQUARES, ratios, side="left") - 1, 0)',
    ),
    Fault("int64 for twice the scales", "scales.py", "LARGEST_EXPONENT = 110", "LARGEST_EXPONENT = 112"),
    Fault(
        "limit decided by rounded ratios",
        "scales.py",
        "fits[number] = numerators[number] < denominators[number] << LARGEST_EXPONENT",
        "pass",
    ),
    Fault("tiny scales let through", "scales.py", "SMALLEST_EXPONENT = -60", "SMALLEST_EXPONENT = -61"),
    Fault(
        "zero let through",
        "scales.py",
        "if not numerators[number] <<",
        "if numerators[number] < 0 and not numerators[number] <<",
    ),
    # python integers
    Fault("large offsets lose their lowest word", "large.py", "int.from_bytes(rest[", "0 * int.from_bytes(rest["),
    Fault(
        "large blocks twice as long",
        "large.py",
        "(block.astype(object) << self.block_bits)",
        "(block.astype(object) << self.block_bits + 1)",
    ),
    Fault(
        "large exponents in float32",
        "large.py",
        "(offset >> surplus).astype(np.float64)",
        "(offset >> surplus).astype(np.float32).astype(np.float64)",
    ),
    Fault(
        "large blocks without their offsets in the exponent",
        "large.py",
        "result += block\n",
        "result = block.astype(np.float64)\n",
    ),
    Fault("large rejected values kept", "large.py", "return where[~kept]", "return where[:0]"),
    Fault("large exact values forgotten", "large.py", "exact[at] = value\n", "pass\n"),
    Fault("large level one doubling low", "scales.py", ".bit_length() - 6\n", ".bit_length() - 7\n"),
    # bits
    Fault("length not checked", "bits.py", "or len(data) != wanted", ""),
    Fault("repeats not checked within a request", "bits.py", " or _repeats(data)", ""),
    Fault("repeats not checked between requests", "bits.py", "data[:BLOCK_BYTES] in self._seen or ", ""),
    Fault("short requests cannot be compared", "bits.py", "// BLOCK_BYTES), 2)", "// BLOCK_BYTES), 1)"),
    Fault(
        "bits from a fixed stream",
        "bits.py",
        "return os.urandom(count)",
        "import hashlib\n        return hashlib.shake_256(b'x').digest(count)",
    ),
    Fault(
        "bits from NumPy",
        "bits.py",
        "return os.urandom(count)",
        "import numpy\n        return numpy.random.bytes(count)",
    ),
    Fault(
        "bits kept for the next call",
        "bits.py",
        "return os.urandom(count)",
        "kept = globals().setdefault('_kept', bytearray())\n"
        "        kept += os.urandom(count + 4096)\n"
        "        data = bytes(kept[:count])\n"
        "        del kept[:count]\n"
        "        return data",
    ),
    Fault(
        "errors carry their context",
        "bits.py",
        "return None  #",
        "raise NoiseError('did not; nothing may be released') from None  #",
    ),
    Fault("top bit of short numbers always 0", "bits.py", "((1 << bits) - 1)", "((1 << bits - 1) - 1)"),
    # self-test
    Fault("exponential not looked at", "selftest.py", "if not largest_exp_error() <= EXP_ERROR:", "if False:", GOLDEN),
    Fault("golden vector not looked at", "selftest.py", "if golden_digest() != _GOLDEN:", "if False:", GOLDEN),
    Fault(
        "self-test never run",
        "drawing.py",
        "    counts = _require_sizes(sizes, len(scales))\n    require_sound_platform()\n    bits =",
        "    counts = _require_sizes(sizes, len(scales))\n    bits =",
        GOLDEN,
    ),
    Fault("NumPy's error settings are obeyed", "batches.py", 'np.errstate(all="ignore")', "np.errstate()", GOLDEN),
]


class Verdict(NamedTuple):
    """What became of a fault: the test that noticed it first, or nothing."""

    fault: Fault
    noticed_by: str
    seconds: float


def planted(source: str, fault: Fault) -> str:
    """Return the source with the fault in it."""
    if source.count(fault.old) != 1:
        raise ValueError(
            f"the place for the fault {fault.name!r} occurs {source.count(fault.old)} times in {fault.file}"
        )
    return source.replace(fault.old, fault.new)


def try_fault(fault: Fault | None) -> Verdict:
    """Plant a fault in a copy, run the quick tests there, and say which of them noticed; None plants nothing."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "residualplanner", copy / "residualplanner", ignore=ignore)
        shutil.copytree(HERE, copy / "tests", ignore=ignore)
        if (conftest := ROOT / "tests" / "conftest.py").exists():
            shutil.copy(conftest, copy / "tests")
        tests = fault.tests if fault else QUICK
        if fault and (first := FIRST.get(fault.file)) in tests:
            tests = (first, *(name for name in tests if name != first))
        if tests != GOLDEN:
            _change(copy, Fault("", "selftest.py", "if golden_digest() != _GOLDEN:", "if False:"))
        if fault:
            _change(copy, fault)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-c", os.devnull, "--rootdir", folder]
        command += ["-p", "no:cacheprovider", "-W", "ignore", *(str(copy / "tests" / name) for name in tests)]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=120
            )
        except subprocess.TimeoutExpired:
            return Verdict(fault or FAULTS[0], "no test ended", time.perf_counter() - start)
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    noticed = lines[0].split("::")[-1].split(" - ")[0] if lines else ""
    if done.returncode not in (0, 1, 2) or (done.returncode and not noticed):
        noticed = f"pytest ended with {done.returncode}"
    return Verdict(fault or FAULTS[0], noticed, time.perf_counter() - start)


def _change(copy: Path, fault: Fault) -> None:
    file = copy / SAMPLER / fault.file
    file.write_text(planted(file.read_text(), fault))


def main() -> None:
    parser = argparse.ArgumentParser(description="Plant faults in the sampler and see whether the quick tests notice.")
    parser.add_argument("--only", default="", help="try only faults whose name has these words in it")
    words = parser.parse_args().only
    untouched = try_fault(None)
    if untouched.noticed_by:
        raise SystemExit(f"the tests fail without any fault: {untouched.noticed_by}")
    print(f"no fault: nothing noticed ({untouched.seconds:.0f} s)")
    survivors = []
    chosen = [fault for fault in FAULTS if words in fault.name]
    for fault in chosen:
        verdict = try_fault(fault)
        print(f"{fault.name:<55} {verdict.noticed_by or 'SURVIVED'}  ({verdict.seconds:.1f} s)", flush=True)
        survivors += [] if verdict.noticed_by else [fault.name]
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} faults noticed")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()

"""Decisions in exact arithmetic, without floating point: whether a uniform number is below a probability, and tails."""

from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction

from residualplanner.gate.discrete_gaussian.bits import CheckedBits

MORE_BITS = 64
MORE_DIGITS = 25
TAIL_CHUNK_BITS = 6


def exp_bounds(numerator: int, denominator: int, digits: int) -> tuple[Fraction, Fraction]:
    """Return numbers at most and at least ``exp(-numerator / denominator)``, both exact where the exponent is zero.

    Python's ``decimal`` rounds quotients in the given direction and its ``exp`` correctly to the nearest, so one
    step down and one step up from there bound the truth; with d digits they differ by less than 10**(3 - d) relative
    as long as the exponent is below 100.
    Source: Python library reference, decimal.Context.exp; docs/exact-noise.md section 5.

    Example:
        >>> low, high = exp_bounds(1, 2, 10)
        >>> float(low), float(high)
        (0.6065306596, 0.6065306598)
    """
    least = _context(digits, ROUND_FLOOR).divide(Decimal(numerator), Decimal(denominator))
    most = _context(digits, ROUND_CEILING).divide(Decimal(numerator), Decimal(denominator))
    context = _context(digits, ROUND_HALF_EVEN)
    # copy_negate, since a minus sign would round to the precision of the thread's own context
    low = context.exp(most.copy_negate())
    low = context.next_minus(low) if context.flags[Inexact] else low
    context.clear_flags()
    high = context.exp(least.copy_negate())
    high = context.next_plus(high) if context.flags[Inexact] else high
    return Fraction(low), Fraction(high)


def _context(digits: int, rounding: str) -> Context:
    # every field is given, so that nothing depends on contexts that a caller may have changed
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=traps
    )


def is_below(uniform: int, length: int, exponent: Fraction, factor: Fraction, bits: CheckedBits) -> bool:
    """Whether a uniform number U is below ``factor * exp(-exponent)``, which must be at most 1.

    U is known by its first ``length`` binary digits, as an integer: it lies in ``[uniform, uniform + 1) / 2**length``.
    More digits are drawn exactly when the probability lies strictly between these ends, so the number of bits used does
    not depend on rounding.  Each precision tried takes about 20 microseconds, one with probability 1 - 1e-15.
    Source: docs/exact-noise.md section 5; after Karney 2016 and Ducas & Nguyen 2012.
    """
    largest = factor.numerator.bit_length() - factor.denominator.bit_length() + 1  # factor < 2**largest
    digits = MORE_DIGITS
    while True:
        if exponent > length + max(largest, 0):  # then the probability is below 2**-length
            low, high = Fraction(1, 1 << length + 1), Fraction(1, 1 << length + 1)
        else:
            low, high = (factor * bound for bound in exp_bounds(exponent.numerator, exponent.denominator, digits))
        left, right = Fraction(uniform, 1 << length), Fraction(uniform + 1, 1 << length)
        if high <= left:
            return False
        if low >= right:
            return True
        if low > left and high < right:
            uniform = uniform << MORE_BITS | bits.integer(MORE_BITS)
            length += MORE_BITS
        digits += MORE_DIGITS


def tail_distance(block_bits: int, bits: CheckedBits) -> tuple[int, int]:
    """Return the position of an attempt in a tail, counted from the tail's start, and the number of its chunk.

    Chunk j = 0, 1, .. has probability ``2**-(j + 1)``; the offset in a chunk of ``2**(block_bits + 6)`` is uniform.
    Source: docs/exact-noise.md section 4.
    """
    chunk = 0
    while (word := bits.integer(MORE_BITS)) == 0:
        chunk += MORE_BITS
    chunk += (word & -word).bit_length() - 1
    width = block_bits + TAIL_CHUNK_BITS
    return (chunk << width) + bits.integer(width), chunk

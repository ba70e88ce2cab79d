"""Values of literals as people write them: MLIR prints 1e-6 as `dense<9.99999997E-7>`."""

from __future__ import annotations

import re
import struct

_SCALAR = re.compile(r"dense<([^<>\[\]\", ]+)>")
_FLOAT = re.compile(r"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
_DIGITS_OF_F32 = 9  # enough for any; what has more is f64


def literal_in_words(value: str) -> str:
    """The shortest number that is the same value; what is no single number stays as it is.

    Example:
        >>> literal_in_words("dense<9.99999997E-7>"), literal_in_words("dense<[1, 2]>"), literal_in_words("{1, 2}")
        ('1e-06', 'dense<[1, 2]>', '{1, 2}')
        >>> literal_in_words("dense<5.000000e-01>"), literal_in_words("dense<true>"), literal_in_words("dense<3>")
        ('0.5', 'true', '3')
    """
    scalar = _SCALAR.fullmatch(value)
    text = scalar[1] if scalar else value
    if not _FLOAT.fullmatch(text) or not {".", "e", "E"} & set(text):
        return text
    digits = len(re.sub(r"[eE].*|\D", "", text).lstrip("0"))
    shorter = (f"{float(text):.{places}g}" for places in range(1, 18))
    return next((one for one in shorter if _same(one, text, digits <= _DIGITS_OF_F32)), text)


def _same(one: str, other: str, is_single: bool) -> bool:
    if not is_single:
        return float(one) == float(other)
    try:
        return struct.pack("f", float(one)) == struct.pack("f", float(other))
    except OverflowError:
        return False

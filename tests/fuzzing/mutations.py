"""Inputs made from good ones: lines, words, numbers and brackets are changed, repeated, swapped and cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tests.fuzzing.structured import with_other_values

_WORD = re.compile(rb"[\w.%]+|[^\w\s]")
_NUMBER = re.compile(rb"-?\d+")
_NUMBERS = [b"0", b"1", b"-1", b"2147483648", b"9223372036854775807", b"99999999999999999999", b"9" * 5000, b"1e400",
            b"-0", b"007", b"1.5", b"nan", b"inf", b"-inf", "\u0663".encode(), "\u00b2".encode(), b"1_0"]  # fmt: skip
_MARKS = [*(bytes([n]) for n in b'{}()[]<>,=%"#:;*/\\\'-?@!&|$ \n\t\r\0'), b"\xff", b"/*", b"*/", b"//", b"->", b"<=",
          b'\\"', b"{{", b"}}", b"ROOT ", b"ENTRY ", b", metadata={", b"...", b"\xe2\x80\xa8", b"\xc2\x85",
          b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\\ud800", b"\\u0000", b"\xe2\x80\xae", b"\x1b[31m"]  # fmt: skip
_LARGEST = 400_000
_STRUCTURED = 0.7

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutated(seeds: Sequence[bytes], random: Random, structured: bool = False) -> bytes:
    """One of the seeds with one to eight changes.

    Args:
        seeds: good inputs of one kind.
        random: everything that is chosen is chosen by it.
        structured: whether the seeds are JSON, YAML or TOML, of which most inputs get other values instead.
    """
    data = random.choice(seeds)
    if structured and random.random() < _STRUCTURED:
        changed = with_other_values(data, random)
        if changed is not None:
            return changed[:_LARGEST]
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        data = random.choice(_MUTATIONS)(data, random, seeds)[:_LARGEST]
    return data


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _times(part: bytes, times: int) -> int:
    """How often it is repeated: what is made here counts as memory of the reader."""
    return min(times, _LARGEST // (len(part) + 1) + 1)


def _words(data: bytes, random: Random) -> re.Match[bytes] | None:
    """A word or mark near a random place."""
    return _WORD.search(data, _place(data, random))


def _drop_line(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def _repeat_line(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    return b"\n".join([*lines[:at], *[lines[at]] * _times(lines[at], random.choice([2, 2, 3, 500])), *lines[at + 1 :]])


def _swap_lines(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _foreign_line(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    lines, others = data.split(b"\n"), random.choice(seeds).split(b"\n")
    lines.insert(random.randrange(len(lines) + 1), random.choice(others))
    return b"\n".join(lines)


def _swap_words(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    one, other = _words(data, random), _words(data, random)
    if one is None or other is None:
        return data
    first, second = sorted((one, other), key=lambda found: found.start())
    if first.end() > second.start():
        return data
    between = data[first.end() : second.start()]
    return data[: first.start()] + second[0] + between + first[0] + data[second.end() :]


def _drop_word(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    found = _words(data, random)
    return data if found is None else data[: found.start()] + data[found.end() :]


def _repeat_word(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    found = _words(data, random)
    times = random.choice([2, 2, 3, 100, 5000])
    return data if found is None else data[: found.start()] + found[0] * _times(found[0], times) + data[found.end() :]


def _foreign_word(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    found, other = _words(data, random), _words(random.choice(seeds), random)
    return data if found is None or other is None else data[: found.start()] + other[0] + data[found.end() :]


def _other_number(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    found = _NUMBER.search(data, _place(data, random))
    return data if found is None else data[: found.start()] + random.choice(_NUMBERS) + data[found.end() :]


def _insert_mark(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at = _place(data, random)
    return data[:at] + random.choice(_MARKS) * random.choice([1, 1, 1, 2, 300, 20_000]) + data[at:]


def _flip_byte(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _cut(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at = _place(data, random)
    return data[:at] if random.random() < 0.5 else data[:at] + data[_place(data, random) :]


def _repeat_part(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    start = _place(data, random)
    end = min(start + random.choice([3, 30, 300, 3000]), len(data))
    return data[:end] + data[start:end] * random.choice([1, 2, 50]) + data[end:]


def _nest(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    at, (open_, close) = _place(data, random), random.choice([(b"{", b"}"), (b"(", b")"), (b"[", b"]"), (b"<", b">")])
    deep = random.choice([1, 2, 150, 3000])
    end = min(at + random.randrange(40), len(data))
    return data[:at] + open_ * deep + data[at:end] + close * deep + data[end:]


_LONG = 20_000
_NAME = re.compile(rb"[A-Za-z_][\w.]*")


def _rename(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """One name everywhere another one: one that is there already, a long one, one of other letters."""
    one, other = _NAME.search(data, _place(data, random)), _NAME.search(data, _place(data, random))
    if one is None or other is None:
        return data
    name = random.choice([other[0], other[0], other[0], b"n" * _LONG, "\u00e9\u0663".encode(), b"ROOT", b"f32", b"1"])
    whole = re.compile(rb"(?<![\w.])" + re.escape(one[0]) + rb"(?![\w.])")
    times = len(whole.findall(data))
    return whole.sub(lambda _: name[: _LARGEST // max(times, 1)] or b"n", data)


def _line_ends(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """Other line ends, or a mark of byte order: as editors and Windows write files."""
    return random.choice([data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data])


_VALUE = re.compile(rb'(?<=":)\s*(?:-?\d[\d.e]*|"[^"\\]*"|true|false|null|\[[^\[\]]*\]|\{[^{}]*\})')
_VALUES = [b"null", b"1e400", b"-1", b"1.5", b'"x"', b'""', b"[]", b"{}", b"[[]]", b"[null]", b'{"a":1}', b"true",
           b"NaN", b"9" * 30, b"[1,2]", b'["a"]', b'{"lists":1}', b'{"lists":[{"indices":["a",1e400]}]}']  # fmt: skip


def _other_type(data: bytes, random: Random, seeds: Sequence[bytes]) -> bytes:
    """The value of a key of JSON is of another type."""
    found = _VALUE.search(data, _place(data, random)) or _VALUE.search(data)
    return data if found is None else data[: found.start()] + random.choice(_VALUES) + data[found.end() :]


_MUTATIONS: list[Mutation] = [
    _drop_line, _repeat_line, _swap_lines, _foreign_line, _swap_words, _drop_word, _repeat_word, _foreign_word,
    _other_number, _insert_mark, _flip_byte, _cut, _repeat_part, _nest, _other_type,
    _rename, _line_ends,
]  # fmt: skip

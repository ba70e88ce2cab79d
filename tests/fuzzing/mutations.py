"""Inputs made from good ones: lines, words, numbers and brackets are changed, repeated, swapped and cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_WORD = re.compile(rb"[\w.%]+|[^\w\s]")
_NUMBER = re.compile(rb"-?\d+")
_NUMBERS = [b"0", b"1", b"-1", b"2147483648", b"9223372036854775807", b"99999999999999999999", b"9" * 5000, b"1e400"]
_MARKS = [*(bytes([n]) for n in b'{}()[]<>,=%"#:;*/\\\'-?@!&|$ \n\t\r\0'), b"\xff", b"/*", b"*/", b"//", b"->", b"<=",
          b'\\"', b"{{", b"}}", b"ROOT ", b"ENTRY ", b", metadata={", b"...", b"\xe2\x80\xa8", b"\xc2\x85"]  # fmt: skip
_LARGEST = 400_000

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """One of the seeds with one to eight changes.

    Args:
        seeds: good inputs of one kind.
        random: everything that is chosen is chosen by it.
    """
    data = random.choice(seeds)
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        data = random.choice(_MUTATIONS)(data, random, seeds)[:_LARGEST]
    return data


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


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
    return b"\n".join([*lines[:at], *[lines[at]] * random.choice([2, 2, 3, 500]), *lines[at + 1 :]])


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
    return data if found is None else data[: found.start()] + found[0] * times + data[found.end() :]


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
]  # fmt: skip

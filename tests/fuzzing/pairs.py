"""Two programs that have the same damage, and differ in one more place: what both sides hold is not parsed."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

from hlodiff.differ import diff
from hlodiff.errors import HlodiffError
from hlodiff.hlo import Module, read_bytes, read_hlo
from tests.fuzzing.mutations import mutated

ROOT = Path(__file__).resolve().parents[2]
_SMALL = 30_000
_SPARE = "%spare (a: f32[8]) -> f32[8] {\n  %a = f32[8]{0} parameter(0)\n  ROOT %b = f32[8]{0} exponential(%a)\n}\n\n"


class WrongAnswer(Exception):
    """A comparison that cannot be right."""


def _small(pattern: str) -> list[bytes]:
    found = [file.read_bytes() for file in sorted((ROOT / "snapshots").glob(pattern))]
    return sorted((data for data in found if len(data) < _SMALL), key=len)


@cache
def compiled_pairs() -> Sequence[bytes]:
    """Programs, some of them with a computation that nothing calls."""
    programs = _small("**/compiled.hlo")
    return [*programs, *(data.replace(b"ENTRY", _SPARE.encode() + b"ENTRY", 1) for data in programs[:10])]


@cache
def lowered_pairs() -> Sequence[bytes]:
    """The same before XLA compiled them."""
    return _small("**/stablehlo.mlir")


def _sides(data: bytes, seeds: Sequence[bytes]) -> tuple[bytes, bytes]:
    """An input, and the same with one more change; which one is chosen by the input itself, and none for a seed."""
    random = Random(zlib.crc32(data))
    return data, data if data in seeds or random.random() < 0.2 else mutated([data], random)


def _compare(old: Module, new: Module, equal: bool) -> None:
    found = diff(old, new)
    if equal and not found.identical:
        raise WrongAnswer("a program differs from itself")
    replay = found.replay()
    if not replay.complete and not found.limits:
        raise WrongAnswer(f"the proof fails: {replay.failures[:2]}")


def diff_lazily(data: bytes) -> None:
    """Compare as large programs are compared: of computations that are equal, only lines are looked at."""
    old, new = _sides(data, compiled_pairs())
    one, other = (read_hlo(side.decode(errors="replace"), at_once=False) for side in (old, new))
    _compare(one, other, old == new)


def diff_both_ways(data: bytes) -> None:
    """Parsed at once and lazily, two programs are refused or equal alike, unless both hold what nobody opens."""
    old, new = _sides(data, compiled_pairs())
    if old == new:
        return
    texts = [side.decode(errors="replace") for side in (old, new)]
    results = [_identical(texts, at_once) for at_once in (True, False)]
    if None not in results and results[0] != results[1]:
        raise WrongAnswer(f"equal: {results[0]} where all is parsed, {results[1]} where only what differs is")


def _identical(texts: Sequence[str], at_once: bool) -> bool | None:
    try:
        return diff(*(read_hlo(text, at_once=at_once) for text in texts)).identical
    except HlodiffError:
        return None


def diff_lowered(data: bytes) -> None:
    """Compare StableHLO."""
    old, new = _sides(data, lowered_pairs())
    one, other = (read_bytes(side, path="a.mlir") for side in (old, new))
    _compare(one, other, old == new)


def inspect(data: bytes) -> None:
    """What `show` says of a program file, and what a snapshot keeps of where the program came from."""
    from hlodiff.inspect import file_reasons, file_summary, reasons_text, summary_text
    from hlodiff.snapshots import attach_source, source_of

    with tempfile.TemporaryDirectory() as root:
        file = Path(root, "a.hlo")
        file.write_bytes(data)
        list(summary_text(file_summary(file)))
        list(reasons_text(file_reasons(file, Path(root))))
    module = read_bytes(data, path="a.hlo")
    attach_source(module, source_of(module, "/project"))

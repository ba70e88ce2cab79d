"""Names for programs that nobody registered: their function's, and what they were called with where that is not enough.

A name must be the same in the next run, and after an edit that has nothing to do with it. So no name holds a number
that counts, unless nothing else tells two apart; and what is seen first keeps the plain name, so that a run which
compiles one more program of a function has one more name and no other ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from hlodiff.store import Key, is_safe
from hlodiff.traces.records import Leaf

_UNSAFE = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST = 60


class Names:
    """Gives names to functions and their programs, in the order in which they are asked for.

    Example:
        >>> names = Names()
        >>> names.key("Trainer.step", "train.py:12", "cpu", [Leaf("x", "array", "f32[64]")]).folder
        'step/cpu'
        >>> names.key("Trainer.step", "train.py:12", "cpu", [Leaf("x", "array", "f32[3,64]")]).folder
        'step/x-f32-3x64/cpu'
    """

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], str] = {}
        self._first: dict[tuple[str, str], Sequence[Leaf]] = {}
        self._taken: set[tuple[str, ...]] = set()

    def key(self, function: str, place: str, target: str, leaves: Sequence[Leaf] | None) -> Key:
        """The name of one more program.

        Args:
            function: qualified name of its function.
            place: `file:line` of the function's definition, "" where it is not known.
            target: what it was compiled for.
            leaves: what it was called with; None for what was compiled outside of any call, such as a backward pass.

        Returns:
            a key that no other program has.
        """
        name = self.function(function, place)
        first = self._first.get((name, target))
        case = "" if first is None and (name.lower(), target, "") not in self._taken else "no-call"
        if leaves is not None:
            first = self._first.setdefault((name, target), leaves)
            case = "" if first is leaves and not case else difference(first, leaves)
        return Key(name, self._free((name.lower(), target), case), target)

    def function(self, function: str, place: str) -> str:
        """The name of a function: its own where no other function has it, else with its file and what it is in."""
        file = place.rpartition(":")[0]
        known = self._functions.get((function, file))
        if known is None:
            short = safe(function.rpartition(".")[2])
            stem = PurePosixPath(file).stem
            whole = safe(".".join(filter(None, [stem, function.replace("<locals>.", "")])))
            taken = {name.lower() for name in self._functions.values()}
            known = next(name for name in _candidates(short, whole) if name.lower() not in taken)
            self._functions[function, file] = known
        return known

    def _free(self, within: tuple[str, ...], case: str) -> str:
        number = 1
        while (*within, _numbered(case, number).lower()) in self._taken:
            number += 1
        found = _numbered(case, number)
        self._taken.add((*within, found.lower()))
        return found


def _candidates(short: str, whole: str) -> Any:
    yield short
    yield whole
    number = 2
    while True:
        yield f"{whole}-{number}"
        number += 1


def _numbered(case: str, number: int) -> str:
    if number == 1:
        return case
    return f"{case}-{number}" if case else f"again-{number}"


def difference(first: Sequence[Leaf], leaves: Sequence[Leaf]) -> str:
    """What tells a call from the first one of its function: arrays of another type, other static values.

    Example:
        >>> difference([Leaf("n", "value", "4")], [Leaf("n", "value", "8")])
        'n-8'
    """
    before, now = ({leaf.path: _said(leaf) for leaf in side if _tells(leaf)} for side in (first, leaves))
    parts = [f"{path}-{_shape(said)}" for path, said in now.items() if before.get(path) != said]
    parts += [f"no-{path}" for path in before if path not in now]
    case = safe("_".join(parts)) if parts else ""
    # A case must not look like a target: both are folders of one function.
    return f"with-{case}" if case.startswith(("cpu", "attached")) else case


def _tells(leaf: Leaf) -> bool:
    """Containers and what is not there show in the paths of the rest."""
    return bool(leaf.path) and leaf.kind not in ("node", "none")


def _said(leaf: Leaf) -> str:
    return " ".join(filter(None, ["weak" if leaf.weak else "", leaf.text, leaf.sharding]))


def _shape(text: str) -> str:
    """`f32[3,64]` as `f32-3x64`."""
    return re.sub(r"\[([\d,]*)\]", lambda m: "-" + m[1].replace(",", "x") if m[1] else "", text)


def safe(name: str) -> str:
    """A name as a folder on every system; what is too long ends in a digest of the whole.

    Example:
        >>> safe("<lambda>"), safe("model.layers[0].weight-f32-3x64")
        ('lambda', 'model.layers_0_.weight-f32-3x64')
    """
    plain = re.sub(r"_+", "_", "-".join(_UNSAFE.sub("_", part) for part in name.split("-"))).strip("_.-")
    if len(plain) > _LONGEST:
        plain = f"{plain[:_LONGEST].rstrip('_.-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return plain if is_safe(plain) else f"{plain}_" if is_safe(f"{plain}_") else "program"

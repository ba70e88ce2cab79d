"""Work that runs elsewhere, told as gone here and come there: a call of the host that is no more leaves no pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlodiff.diff.metrics import BOOKKEEPING
from hlodiff.diff.placement import compute_place
from hlodiff.diff.result import Edit, ModuleDiff, Site
from hlodiff.ir.content import shape_text
from hlodiff.ir.model import Module


@dataclass(frozen=True, slots=True)
class Displaced:
    """An operation that went in one place and came in another one: "host" and "device", or a thread of XLA's."""

    removed: Edit
    added: Edit
    old: str
    new: str

    @property
    def count(self) -> int:
        """How many such operations there are on both sides."""
        return min(self.removed.count, self.added.count)


def displaced(diff: ModuleDiff) -> tuple[Displaced, ...]:
    """Operations of one opcode and type of which one went and one came, and that run elsewhere now.

    Args:
        diff: two programs.

    Returns:
        in the order of the edits, each edit in one pair at most.

    Example:
        >>> displaced(ModuleDiff(Module("m", "stablehlo", (), 0), Module("m", "stablehlo", (), 0)))
        ()
    """
    came: dict[tuple[str, str], list[tuple[Edit, str]]] = {}
    for edit, kind, place in _whole(diff, "added"):
        came.setdefault(kind, []).append((edit, place))
    found = []
    for edit, kind, place in _whole(diff, "removed"):
        partners = came.get(kind, [])
        number = next((n for n, (_, there) in enumerate(partners) if there != place), None)
        if number is not None:
            added, there = partners.pop(number)
            found.append(Displaced(edit, added, place, there))
    return tuple(found)


def _whole(diff: ModuleDiff, kind: str) -> Iterator[tuple[Edit, tuple[str, str], str]]:
    """Operations that came or went, with opcode and type, and where they run."""
    for edit in diff.edits:
        site = edit.new if kind == "added" else edit.old
        if edit.kind != kind or site is None or site.computation < 0 or site.opcode in BOOKKEEPING:
            continue
        yield edit, *_told(site, diff.new if kind == "added" else diff.old)


def _told(site: Site, module: Module) -> tuple[tuple[str, str], str]:
    computation = module.computations[site.computation]
    it = computation.instructions[site.instruction]
    return (it.opcode, shape_text(it.shape, False)), compute_place(computation, it)

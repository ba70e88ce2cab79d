"""A pair of programs with the true edits between them: old text, new text, and edits by place in the new text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.edits import make_one, make_several
from benchmarks.noise import QUIET, Noise, add_noise
from benchmarks.truth import Made, TrueEdit
from benchmarks.workbench import Node, Place, Workpiece, drop_unread_captures, put_together, take_apart
from benchmarks.writer import write
from hlodiff.hlo import read_text
from hlodiff.hlo.model import Module


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """A true edit with both places as indices into the modules parsed from the two texts."""

    kind: str
    fields: tuple[str, ...]
    old: Place | None
    new: Place | None
    elsewhere: tuple[Place, ...]
    channel: str
    anywhere: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs as text, parsed again, and the true script.

    Args:
        script: the true edits; () if `halves` has them.
        halves: for a split or merged fusion, the alternative sets of instructions that moved.
        fusion_change: the kind of FusionChange that must be reported, "" for none.
    """

    old_text: str
    new_text: str
    old: Module
    new: Module
    script: tuple[PlacedEdit, ...]
    halves: tuple[tuple[PlacedEdit, ...], ...]
    fusion_change: str


def make_pair(text: str, kind: str, noise: Noise, chance: Random, at_once: int = 1) -> Pair | None:
    """Make a pair with one known edit, or several, and noise.

    Args:
        text: the old program.
        kind: a name of `edits.EDITS`, "noise" for none at all, "several" for `at_once` random ones.
        noise: the noise on the new side.
        chance: the random generator.
        at_once: the number of edits for "several".

    Returns:
        The pair; None if the program has no place for the edit.
    """
    old = read_text(text)
    piece = take_apart(old)
    made = _edit(piece, kind, chance, at_once)
    if made is None:
        return None
    if piece.stage == "stablehlo":
        drop_unread_captures(piece)
    keep = {id(e.node) for m in made for half in (m.edits, *m.halves) for e in half if e.node is not None}
    add_noise(piece, noise, chance, keep | {id(n) for m in made if m.fusion_change for n in m.touched})
    unread, places = put_together(piece)
    new_text = write(unread)
    new = read_text(new_text)
    landed = line_up(unread, new)
    return Pair(
        text,
        new_text,
        old,
        new,
        tuple(_placed(edit, places, landed) for m in made for edit in m.edits),
        tuple(tuple(_placed(e, places, landed) for e in half) for m in made for half in m.halves),
        next((m.fusion_change for m in made if m.fusion_change), ""),
    )


def _edit(piece: Workpiece, kind: str, chance: Random, at_once: int) -> Sequence[Made] | None:
    if kind == "noise":
        return []
    if kind == "several":
        made = make_several(piece, at_once, chance)
        return made if len(made) == at_once else None
    one = make_one(piece, kind, chance)
    return None if one is None else [one]


def _placed(edit: TrueEdit, places: dict[int, Place], landed: dict[Place, Place]) -> PlacedEdit:
    def place(node: Node | None) -> Place | None:
        return None if node is None else landed[places[id(node)]]

    elsewhere = tuple(landed[places[id(node)]] for node in edit.elsewhere)
    return PlacedEdit(edit.kind, edit.fields, edit.old, place(edit.node), elsewhere, edit.channel, edit.anywhere)


def line_up(written: Module, read: Module) -> dict[Place, Place]:
    """Map places in a module to places in the module parsed from its text: the same instructions in order.

    Parameters are matched by number: those for values captured by a region appear where they are first used.

    Raises:
        AssertionError: the text is not the same program.
    """
    by_name = {c.name: n for n, c in enumerate(read.computations)}
    called = {c for owner in written.computations for it in owner.instructions for c in it.called}
    pairs = [(written.entry, read.entry)]
    pairs += [
        (n, by_name[c.name]) for n, c in enumerate(written.computations) if n not in called and n != written.entry
    ]
    seen: set[int] = set()
    found: dict[Place, Place] = {}
    for ours, theirs in pairs:
        if ours in seen:
            continue
        seen.add(ours)
        one, two = written.computations[ours], read.computations[theirs]
        lists = [
            (*c.parameters, *(n for n, it in enumerate(c.instructions) if it.opcode != "parameter")) for c in (one, two)
        ]
        for a, b in zip(*lists, strict=True):
            old, new = one.instructions[a], two.instructions[b]
            assert old.opcode == new.opcode, f"{one.name} / {old.name} is read as {new.opcode}"
            found[ours, a] = (theirs, b)
            pairs += zip(old.called, new.called, strict=True)
    return found


def plain_copy(text: str) -> str:
    """A program parsed, taken apart, put together and printed again without edits."""
    piece = take_apart(read_text(text))
    add_noise(piece, QUIET, Random(0), set())
    return write(put_together(piece)[0])

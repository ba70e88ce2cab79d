"""Edits without a cause, each with its knock-on edits and its part of a body that several fusions share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hlodiff.differ.instruction_costs import FUSIONS
from hlodiff.differ.result import Cost, Edit


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One edit with its index in its program, the index of the program, and its knock-on edits."""

    program: int
    index: int
    edit: Edit
    followers: tuple[Edit, ...]


def members_of(edits: Sequence[Edit], program: int = 0) -> list[GroupMember]:
    """Edits without a cause, each with its knock-on edits.

    Example:
        >>> [len(one.followers) for one in members_of((Edit("added"), Edit("added", cause=0)))]
        [1]
    """
    followers: dict[int, list[Edit]] = {}
    for edit in edits:
        if edit.cause is not None:
            followers.setdefault(edit.cause, []).append(edit)
    found = [
        GroupMember(program, index, edit, tuple(followers.get(index, ())))
        for index, edit in enumerate(edits)
        if edit.cause is None
    ]
    return _with_own_parts(found)


def _with_own_parts(members: list[GroupMember]) -> list[GroupMember]:
    """Gives each of several fusions or loops with one body its part of what is in it.

    The body's edits follow from one of them. By how often each runs, where that divides all numbers; else they stay.
    """
    by_body: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for n, member in enumerate(members):
        site = member.edit.new or member.edit.old
        if member.edit.kind != "changed" and site is not None and site.opcode in _HOLDING:
            by_body.setdefault((member.edit.kind, _bodies_of(site.text)), []).append(n)
    for (kind, bodies), sharing in by_body.items():
        if not bodies or len(sharing) < 2:
            continue
        holding = {n: sides for n in sharing if (sides := _inside(members[n].followers, bodies))[0]}
        if len(holding) != 1:
            continue
        ((holder, (inside, outside)),) = holding.items()
        runs = [_runs(members[n].edit, kind) for n in sharing]
        parts = [[_part_of(edit, one, sum(runs)) for edit in inside] for one in runs]
        if not all(runs) or any(edit is None for part in parts for edit in part):
            continue
        for n, part in zip(sharing, parts, strict=True):
            rest = outside if n == holder else members[n].followers
            members[n] = replace(members[n], followers=(*rest, *filter(None, part)))
    return members


_HOLDING = FUSIONS | {"while"}
_CALLS = re.compile(r"\b(?:calls|body|condition|to_apply)=%?([\w.#-]+)")


def _bodies_of(text: str) -> tuple[str, ...]:
    """The computations that an instruction calls."""
    return tuple(_CALLS.findall(text))


def _inside(edits: Sequence[Edit], bodies: Sequence[str]) -> tuple[list[Edit], list[Edit]]:
    """The edits in the bodies of a fusion or loop and in what they call, and the others."""
    by_computation: dict[str, list[Edit]] = {}
    for edit in edits:
        site = edit.new or edit.old
        by_computation.setdefault(site.computation_name if site else "", []).append(edit)
    inside: list[Edit] = []
    worklist = [*bodies]
    for one in worklist:  # the list grows
        own = by_computation.pop(one, [])
        inside += own
        worklist += [called for edit in own if (site := edit.new or edit.old) for called in _bodies_of(site.text)]
    return inside, [edit for own in by_computation.values() for edit in own]


def _runs(edit: Edit, kind: str) -> int:
    cost = (edit.cost or (None, None))[kind == "added"]
    return cost.runs if cost else 0


def _part_of(edit: Edit, runs: int, of: int) -> Edit | None:
    """The part of an edit in a shared body that one of its callers runs; None if that is no whole number."""
    if not edit.cost:
        return None
    costs = [one and _part_of_cost(one, runs, of) for one in edit.cost]
    is_whole = all((one is None) == (part is None) for one, part in zip(edit.cost, costs, strict=True))
    count = max(edit.count * runs // of, 1)
    return replace(edit, count=count, cost=(costs[0], costs[1])) if is_whole else None


def _part_of_cost(cost: Cost, runs: int, of: int) -> Cost | None:
    numbers = [cost.runs, cost.flops, cost.read, cost.written, cost.collective, cost.cycles or 0]
    numbers += [size for _, size in cost.elsewhere]
    if any(number * runs % of for number in numbers):
        return None
    total, flops, read, written, collective, cycles, *sizes = (number * runs // of for number in numbers)
    return replace(
        cost,
        runs=total,
        flops=flops,
        read=read,
        written=written,
        collective=collective,
        cycles=None if cost.cycles is None else cycles,
        elsewhere=tuple((space, size) for (space, _), size in zip(cost.elsewhere, sizes, strict=True)),
    )

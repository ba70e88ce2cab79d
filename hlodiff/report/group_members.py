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
    """Gives each of several fusions with one body its part of what is in it: the body's edits follow from one of them.

    By how often each runs, where that divides all numbers; else they stay with that one.
    """
    by_body: dict[tuple[str, str], list[int]] = {}
    for n, member in enumerate(members):
        site = member.edit.new or member.edit.old
        if member.edit.kind != "changed" and site is not None and site.opcode in FUSIONS:
            by_body.setdefault((member.edit.kind, _body_of(site.text)), []).append(n)
    for (kind, body), sharing in by_body.items():
        holding = [n for n in sharing if members[n].followers]
        if not body or len(sharing) < 2 or len(holding) != 1:
            continue
        inside, outside = _inside(members[holding[0]].followers, body)
        runs = [_runs(members[n].edit, kind) for n in sharing]
        parts = [[_part_of(edit, one, sum(runs)) for edit in inside] for one in runs]
        if not inside or not all(runs) or any(edit is None for part in parts for edit in part):
            continue
        for n, part in zip(sharing, parts, strict=True):
            own = (*(outside if n == holding[0] else ()), *filter(None, part))
            members[n] = replace(members[n], followers=own)
    return members


_CALLS = re.compile(r"\bcalls=%?([\w.#-]+)")


def _body_of(text: str) -> str:
    found = _CALLS.search(text)
    return found[1] if found else ""


def _inside(edits: Sequence[Edit], body: str) -> tuple[list[Edit], list[Edit]]:
    """The edits in a fusion's body and in the fusions that it calls, and the others."""
    by_computation: dict[str, list[Edit]] = {}
    for edit in edits:
        site = edit.new or edit.old
        by_computation.setdefault(site.computation_name if site else "", []).append(edit)
    inside: list[Edit] = []
    bodies = [body]
    for one in bodies:  # the list grows
        own = by_computation.pop(one, [])
        inside += own
        bodies += [called for edit in own if (site := edit.new or edit.old) and (called := _body_of(site.text))]
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

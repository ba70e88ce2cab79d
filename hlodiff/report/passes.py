"""Text on passes: where two compiles diverge, and which pass made each edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlodiff.differ.passes.blame import PassBlame, PassPoint
    from hlodiff.differ.passes.dumps import Stage
    from hlodiff.differ.result import Edit
    from hlodiff.hlo.model import Module

_MOST_NAMED = 3
_MOST_ALONE = 8
_SIDES = ("old", "new")


def point_words(point: PassPoint | None, last: tuple[int, int]) -> str:
    """`scatter_simplifier (pass 6 of 60; old: 6 of 67)`.

    Args:
        point: a position in the aligned passes; None for the start.
        last: the highest number of a text on each side.
    """
    if point is None:
        return "the start"
    if point.both:
        stages = point.passes[0][1], point.passes[1][1]
        numbers = [stage.number for stage in stages]
        name = stages[1].follows.label
        if numbers[1] is None or numbers[0] is None:
            return name
        own = f"pass {numbers[1]} of {last[1]}"
        return f"{name} ({own})" if (numbers[0], last[0]) == (numbers[1], last[1]) else (
            f"{name} ({own}; old: {numbers[0]} of {last[0]})"
        )  # fmt: skip
    words = [f"{stage.follows.label} ({side_words(side, stage, last)})" for side, stage in point.passes[:_MOST_NAMED]]
    more = len(point.passes) - len(words)
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def side_words(side: int, stage: Stage, last: tuple[int, int]) -> str:
    """`pass 6 of 67, old only`."""
    number = f"pass {stage.number} of {last[side]}, " if stage.number is not None else ""
    return f"{number}{('old', 'new')[side]} only"


def edit_words(found: PassBlame, edit: Edit, modules: tuple[Module, Module]) -> str:
    """One line for an edit of the final programs: the pass that made it.

    Args:
        found: the passes to blame.
        edit: an edit of the final difference.
        modules: the final programs, without noise.

    Returns:
        the line; "" if the two compiles are the same up to the last text.
    """
    parted = found.parted
    if parted is None:
        return ""
    known, point = found.since(edit, modules)
    start = parted_words(found)
    if not known or point == parted.point:
        return start
    since = {"added": "the new side has it since", "removed": "the old side has it since"}
    return f"{start}; {since.get(edit.kind, 'in this form since')} {point_words(point, found.last)}"


def parted_words(found: PassBlame) -> str:
    """`first differs after fusion (pass 14 of 21); before it the programs are the same`."""
    parted = found.parted
    if parted is None:
        return ""
    if parted.point is None:
        return "differs before all passes: StableHLO difference carried through"
    again = "again " if len(found.partings) > 1 else "first "
    return f"{again}differs after {point_words(parted.point, found.last)}; before it the programs are the same"


def blame_lines(found: PassBlame) -> list[str]:
    """Lines on passes for a program's report: where the compiles diverge, and passes that only one side has."""
    lines = [parted_words(found) or "the texts of all passes are the same on both sides"]
    for one in found.partings[:-1] if found.parted else found.partings:
        where = f"after {point_words(one.point, found.last)}" if one.point else "before all passes"
        if one.joined:
            lines.append(f"differs {where} and is the same again after {point_words(one.joined, found.last)}")
    for side, word in enumerate(_SIDES):
        names = [
            stage.follows.label + (f" (pass {stage.number})" if stage.number is not None else "")
            for one, stage in found.alone
            if one == side
        ]
        more = f" and {len(names) - _MOST_ALONE} more" if len(names) > _MOST_ALONE else ""
        if names:
            lines.append(f"changed the program on the {word} side only: {', '.join(names[:_MOST_ALONE])}{more}")
    return lines


def blame_json(found: PassBlame) -> dict[str, Any]:
    """The passes to blame as plain values."""
    return {
        "partings": [
            {
                "after": _point_json(one.point),
                "summary": one.diff.summary,
                "edits": [edit.to_json() for edit in one.diff.edits],
                "same_again_after": _point_json(one.joined),
            }
            for one in found.partings
        ],
        "one_side_only": [{"side": _SIDES[side], **_stage_json(stage)} for side, stage in found.alone],
        "last": list(found.last),
        "lines": blame_lines(found),
    }


def _point_json(point: PassPoint | None) -> dict[str, Any] | None:
    if point is None:
        return None
    return {
        "both": point.both,
        "passes": [{"side": _SIDES[side], **_stage_json(stage)} for side, stage in point.passes],
    }


def _stage_json(stage: Stage) -> dict[str, Any]:
    return {
        "number": stage.number,
        "pipeline": stage.follows.pipeline or None,
        "pass": stage.follows.name or None,
        "step": stage.follows.step or None,
        "file": stage.file,
    }

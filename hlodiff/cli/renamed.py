"""Functions that were renamed: what is new compiles to what is registered no more."""

from __future__ import annotations

from collections.abc import Iterable

from hlodiff.diff.compared import Compared, Status
from hlodiff.ir.content import fingerprint

_Label = tuple[str, str | None]


def renamed(programs: Iterable[Compared], *, recorded: bool = True) -> tuple[str, ...]:
    """What a report says of new programs that are equal to orphaned ones.

    Args:
        programs: of a check.
        recorded: whether the old ones are snapshots, so that there is something to type.

    Returns:
        a note for each pair of names; where there are snapshots, with the command that records the new one and
        deletes the old one.

    Example:
        >>> renamed([Compared("f", "cpu", "compiled", "added")])
        ()
    """
    programs = tuple(programs)
    gone, come = _contents(programs, "removed"), _contents(programs, "added")
    pairs: dict[tuple[str, str], None] = {}
    for (name, target), stages in come.items():
        # One that was only lowered has no compiled stage.
        olds = [old for (old, on), known in gone.items() if on == target and known.items() >= stages.items()]
        if len(olds) == 1:
            pairs[olds[0], name] = None
    return tuple(
        f"{new} compiles to what {old} was: "
        + (f"if it was renamed, `hlodiff update --prune {new} {old}`" if recorded else "it may have been renamed")
        for old, new in pairs
    )


def _contents(programs: Iterable[Compared], status: Status) -> dict[_Label, dict[str, str]]:
    """The content of each program by stage, whatever its instructions are called."""
    found: dict[_Label, dict[str, str]] = {}
    for one in programs:
        if one.status == status and one.module is not None:
            found.setdefault((one.name, one.target), {})[one.stage] = fingerprint(one.module)
    return found

"""No lost or moved placement: what ran on the host, lay in its memory or was sharded does so still.

Nothing but the placement tells: a lost `compute_on` or `with_sharding_constraint` gives the same numbers, on a device
that may not have the memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.diff.classes import classes_of_edit
from hlodiff.diff.displaced import displaced
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.policy.programs import Both, Hit, hit_of

ADVICE = "if the move is meant, hlodiff update records it"
_FIELDS = ("compute_type", "memory_space", "sharding", "replica_groups")


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Edits of placement: as they are written, else as they are compiled. What is placed anew is allowed."""
    for program in (both.stablehlo, both.compiled):
        diff = program.diff if program is not None else None
        found = [*_displaced(diff), *(hit for edit in diff.edits for hit in _hits(edit, diff))] if diff else []
        yield from found
        if found:
            return


def _displaced(diff: ModuleDiff) -> Iterator[Hit]:
    for one in displaced(diff):
        site = one.added.new
        if site is not None:
            yield hit_of(one.added, f"{site.opcode} %{site.name} runs on the {one.new}, it ran on the {one.old}")


def _hits(edit: Edit, diff: ModuleDiff) -> Iterator[Hit]:
    if edit.kind == "removed" and edit.old and "placement" in classes_of_edit(edit, diff):
        yield hit_of(edit, f"{edit.old.opcode} %{edit.old.name} is gone, which placed a value")
    for change in edit.changes:
        site = edit.new or edit.old
        if change.field in _FIELDS and not _only_device(change.old, change.new) and site and change.old:
            word = change.field.replace("_", " ")
            yield hit_of(edit, f"{word} of {site.opcode} %{site.name} is {change.new or 'none'}, it was {change.old}")


def _only_device(old: str, new: str) -> bool:
    """Whether a value moved between two memories of the device, as the compiler likes it."""
    return "host" not in (old, new) and {"device", "vmem", "smem", "fast memory"} >= {old, new}

"""No new copy at the entry: an argument or result that is copied costs its bytes in time and in memory on every call.

It appears where donation is lost, where the layout of an argument does not fit, or where one buffer is returned twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlodiff.config_policy import RuleUse
from hlodiff.diff.result import Edit, ModuleDiff
from hlodiff.policy.programs import Both, Hit, hit_of

ADVICE = "look whether the donation or the layout of an argument changed"
_COPIES = ("copy", "copy-start")


def violations(both: Both, use: RuleUse) -> Iterator[Hit]:
    """Copies of the compiled entry that were not there, where there are more of them than before."""
    diff = both.compiled.diff if both.compiled is not None else None
    if diff is None or not diff.edits:
        return
    before, after = (_copies(diff, side) for side in (0, 1))
    if after <= before:
        return
    for edit in diff.edits:
        if _brings(edit, diff):
            yield hit_of(
                edit, f"copy %{edit.new.name} is new at the entry" if edit.new else "a copy is new at the entry"
            )


def _copies(diff: ModuleDiff, side: int) -> int:
    entry = (diff.old, diff.new)[side].entry_computation
    return sum(it.opcode in _COPIES or _wraps_copy(diff, side, it.called) for it in entry.instructions)


def _wraps_copy(diff: ModuleDiff, side: int, called: tuple[int, ...]) -> bool:
    """A fusion of nothing but a copy, as cpu and GPU print them."""
    module = (diff.old, diff.new)[side]
    return len(called) == 1 and any(
        [it.opcode for it in module.computations[index].instructions if it.opcode != "parameter"] == ["copy"]
        for index in called
    )


def _brings(edit: Edit, diff: ModuleDiff) -> bool:
    if edit.kind not in ("added", "changed", "moved") or edit.new is None:
        return False
    it = diff.new.computations[edit.new.computation].instructions[edit.new.instruction]
    if edit.new.computation != diff.new.entry:
        return False
    was = edit.old is not None and edit.old.opcode in _COPIES and edit.old.computation == diff.old.entry
    return not was and (it.opcode in _COPIES or (edit.kind == "added" and _wraps_copy(diff, 1, it.called)))
